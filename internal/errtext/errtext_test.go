package errtext

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorsHaveOnePrefix(t *testing.T) {
	inner := errors.New("hogapi: no bucket")
	err := Errorf("run %d: %v (%v)", 7, inner, io.EOF)
	require.EqualError(t, err, "hogapi: run 7: no bucket (EOF)")
	assert.ErrorIs(t, err, inner)
	assert.ErrorIs(t, err, io.EOF)
	assert.NotErrorIs(t, Errorf("alone"), inner)
}

func TestTextsOfParts(t *testing.T) {
	var b Text
	b.Add("read %d", 7)
	b.AddIf(false, ", failing: %v", WithoutPrefix(nil))
	b.AddIf(true, ", failing: %v", WithoutPrefix(Errorf("busy")))
	assert.Equal(t, "read 7, failing: busy", b.String())
	assert.EqualError(t, WithoutOp("runs.get", Errorf("runs.get: busy")), "busy")
}
