package hogapi

import (
	"reflect"
	"slices"

	"github.com/hogapi/hogapi/opt"
)

// Opt is an optional field of a request with three states: absent (the zero value, not sent), null,
// and a value. Fields of this type carry the JSON tag option omitzero.
type Opt[T any] = opt.Opt[T]

// Set returns an Opt that sends v.
func Set[T any](v T) Opt[T] { return opt.Set(v) }

// Null returns an Opt that sends null.
func Null[T any]() Opt[T] { return opt.Null[T]() }

// SetOrNull returns an Opt that sends *p, or null when p is nil.
func SetOrNull[T any](p *T) Opt[T] { return opt.SetOrNull(p) }

// Secret holds a credential. It prints as "[redacted]" in fmt, slog and JSON, at any depth; only the body
// of a request carries the text.
type Secret = opt.Secret

// NewSecret wraps a credential.
func NewSecret(s string) Secret { return opt.NewSecret(s) }

// Functions of the service methods for their input.

// orDefault returns the value that an options pointer points to; nil means the defaults.
func orDefault[T any](o *T) T {
	if o == nil {
		var none T
		return none
	}
	return *o
}

// isNil reports whether an interface holds nothing, or a pointer or a function that is nil.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

func isKnown[T ~string](value T, known []T) bool { return slices.Contains(known, value) }
