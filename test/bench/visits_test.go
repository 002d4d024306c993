package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVisits(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	for format := range recordOf {
		require.NoError(t, checkVisits(format))
		if n > 0 {
			require.NoError(t, writeVisits(os.Getenv("OUT")+"/"+format+".jsonl", format, n))
		}
	}
}
