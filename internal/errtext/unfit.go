package errtext

import "fmt"

// UnfitError reports an input that cannot be used; the caller must choose another one.
type UnfitError struct {
	Field string // the faulty input
	Value string // as given; may be empty
	Want  string // valid values
}

func (e *UnfitError) Error() string { return fmt.Sprintf("%s %q: want %s", e.Field, e.Value, e.Want) }
