// Package event has types that the other packages share: positions in a source, reasons of rejects, and warnings about
// events that were sent. Package hogapi has aliases of the types that a program with a Capture needs, except for Bad,
// Skip and UnsettledError, the error of Capture.Close.
package event
