package errtext

import "fmt"

// UnfitError is an input that cannot be used: the caller has to choose another one.
type UnfitError struct {
	Field string // what is wrong
	Value string // what was given; may be empty
	Want  string // what is allowed
}

func (e *UnfitError) Error() string { return fmt.Sprintf("%s %q: want %s", e.Field, e.Value, e.Want) }
