package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All records are JSON, and hogimport takes every one.
func TestFiles(t *testing.T) {
	for format := range recordOf {
		require.NoError(t, checkVisits(format))
	}
	var out strings.Builder
	require.NoError(t, run(&out, []string{"-files", "-n", "1000", "-rounds", "1", "-growth", "500", "-run"}), out.String())
	for format := range recordOf {
		require.Contains(t, out.String(), "| "+format+" | ")
	}
	t.Log(out.String())
}
