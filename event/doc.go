// Package event has the nouns that package hogapi and its doors share: where an event is in its source, why it was
// refused, and what to look at although it was sent. Package hogapi has most of those that a program with a
// Capture needs under the same names, but not Bad, Skip and UnsettledError, the error of Capture.Close.
package event
