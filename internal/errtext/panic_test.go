package errtext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/errtext"
)

func panicOf(f func()) (err error) {
	defer func() { err = errtext.Panic(recover(), "the function") }()
	f()
	return nil
}

// Only the type of a panic's value is named, since it may hold a secret, except for runtime errors.
func TestPanic(t *testing.T) {
	t.Parallel()
	err := panicOf(func() { panic("a secret") })
	assert.Regexp(t, `^the function panicked at panic_test.go:\d+: a panic with a value of type string$`, err.Error())
	var list []int
	err = panicOf(func() { list[1]++ })
	assert.Regexp(t, `^the function panicked at panic_test.go:\d+: runtime error: index out of range`, err.Error())
}
