package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefuse(t *testing.T) {
	require.NoError(t, refuse("x links", nil, linked))
	require.NoError(t, refuse("x links", linked, linked))
	err := refuse("x links", []string{"github.com/google/uuid", "example.test/heavy"}, linked)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "x links example.test/heavy;")
}

func TestWhoseImport(t *testing.T) {
	assert.True(t, isStd("net/http"))
	assert.False(t, isStd("github.com/google/uuid"))
	assert.True(t, isOurs(thisModule))
	assert.True(t, isOurs(thisModule+"/internal/x"))
	assert.False(t, isOurs(thisModule+"more"), "another module whose name begins alike")
}
