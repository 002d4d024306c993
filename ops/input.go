package ops

import (
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/errtext"
)

// InputError is bad input, refused before anything was sent. It matches hogapi.ErrInvalid.
type InputError struct {
	Op    Op     // the operation; empty for options and for values outside an operation
	Field string // the wrong field or parameter
	Value string // the given value, shortened; empty where it may be secret
	Want  string // the allowed values
}

// Error names the field, the given value and the allowed values.
func (e *InputError) Error() string {
	text := e.Field
	if value := e.Value; value != "" {
		if len(value) > 80 {
			value = strings.ToValidUTF8(value[:80], "") + "…"
		}
		text += " " + strconv.QuoteToGraphic(value)
	}
	if e.Op != "" {
		text = string(e.Op) + ": " + text
	}
	return "hogapi: " + text + ": want " + e.Want
}

// Is matches hogapi.ErrInvalid.
func (e *InputError) Is(target error) bool { return target == errtext.ErrInvalid }
