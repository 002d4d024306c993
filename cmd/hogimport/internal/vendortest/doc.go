// Package vendortest has servers of the raw export APIs of Mixpanel and Amplitude, for tests of clients.
//
// Their author had the vendors' documentation of these APIs and had not read the client, so that each is judged by
// the documentation and not by the other. [Mixpanel] and [Amplitude] are http.Handlers that hold the events of one
// project. They check key, parameters and pace as the vendor does, and answer with JSON lines or with a zip of
// gzipped files. [Script] makes single requests fail, and [Log] holds the requests.
//
// The vendors' documentation does not give the texts of most errors, nor the status for a wrong project. These are
// made up: a client must not depend on them.
package vendortest
