// Package event has the nouns that package hogapi and its doors share: where an event is in its source, why it was
// refused, and what to look at although it was sent. A program with a Capture finds those that it needs in package
// hogapi too.
package event
