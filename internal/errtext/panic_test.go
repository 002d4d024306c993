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

// A panic's value can hold a secret, so only its type is named, unless it is the runtime's own.
func TestPanic(t *testing.T) {
	t.Parallel()
	err := panicOf(func() { panic("a secret") })
	assert.Regexp(t, `^the function panicked at panic_test.go:\d+: a panic with a value of type string$`, err.Error())
	var list []int
	err = panicOf(func() { list[1]++ })
	assert.Regexp(t, `^the function panicked at panic_test.go:\d+: runtime error: index out of range`, err.Error())
}
