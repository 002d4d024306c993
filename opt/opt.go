// Package opt has the fields of requests and of configs that need more than a plain value: [Opt], which is
// absent, null or a value, and [Secret], which does not print. Package hogapi has the same names for them.
package opt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/hogapi/hogapi/internal/mask"
)

// Opt is an optional field of a request with three states: absent (the zero value, not sent), null,
// and a value. Fields of this type carry the JSON tag option omitzero.
type Opt[T any] struct {
	v     T
	state optState
}

type optState uint8

const (
	optAbsent optState = iota
	optNull
	optValue
)

// Set returns an Opt that sends v.
func Set[T any](v T) Opt[T] { return Opt[T]{v: v, state: optValue} }

// Null returns an Opt that sends null.
func Null[T any]() Opt[T] { return Opt[T]{state: optNull} }

// SetOrNull returns an Opt that sends *p, or null when p is nil.
func SetOrNull[T any](p *T) Opt[T] {
	if p == nil {
		return Null[T]()
	}
	return Set(*p)
}

// Get returns the value, and whether there is one: false when absent or null.
func (o Opt[T]) Get() (T, bool) { return o.v, o.state == optValue }

// Or returns the value, or other when absent or null.
func (o Opt[T]) Or(other T) T {
	if o.state == optValue {
		return o.v
	}
	return other
}

// IsZero reports whether the field is absent. The JSON tag option omitzero uses it.
func (o Opt[T]) IsZero() bool { return o.state == optAbsent }

// IsNull reports whether the field is null.
func (o Opt[T]) IsNull() bool { return o.state == optNull }

// String formats the value as fmt does, "null" or "absent".
func (o Opt[T]) String() string {
	switch o.state {
	case optAbsent:
		return "absent"
	case optNull:
		return "null"
	default:
		return fmt.Sprint(o.v)
	}
}

// Format writes the text of String, a value under the given verb. Without it, fmt would look into the
// value itself, past the methods that hide its credentials.
func (o Opt[T]) Format(f fmt.State, verb rune) {
	if o.state == optValue {
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), o.v)
		return
	}
	_, _ = io.WriteString(f, o.String())
}

// errAbsent is the error of a field without the tag option omitzero, which keeps absent fields away.
var errAbsent = errors.New("hogapi: an absent Opt cannot be marshalled; give its field the tag option omitzero")

// MarshalJSON writes the value or null. It refuses a value that itself marshals to null: use [Null]
// for that.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	switch o.state {
	case optAbsent:
		return nil, errAbsent
	case optNull:
		return []byte("null"), nil
	default:
		b, err := json.Marshal(o.v)
		if err == nil && string(b) == "null" {
			return nil, fmt.Errorf("hogapi: a set %T marshals to null; use Null to send null", o.v)
		}
		return b, err
	}
}

// UnmarshalJSON reads a value or null.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*o = Set(v)
	return nil
}

// redacted is the text that every secret prints.
const redacted = mask.Redacted

// Secret holds a credential of a destination. It prints as "[redacted]" in fmt, slog and JSON, at any
// depth; only the body of a request carries the text.
type Secret struct {
	reveal func() string // a closure: fmt cannot look into it, not even in an unexported field
}

// NewSecret wraps a credential.
func NewSecret(s string) Secret { return Secret{reveal: func() string { return s }} }

// Reveal returns the credential.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// Format writes "[redacted]" under every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes "[redacted]". Requests reveal their secrets in another way.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalJSON reads a credential, for example from a file of settings.
func (s *Secret) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return errors.New("hogapi: a secret must be a JSON string") // the cause would quote the input
	}
	*s = NewSecret(text)
	return nil
}
