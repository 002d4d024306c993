package faults

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// leftBehind are folders to remove in the end.
var leftBehind []string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, folder := range leftBehind {
			_ = os.RemoveAll(folder)
		}
		os.Exit(code)
	}))
}

// sized returns the figure for the gate, for the long runs, or for the deep runs if they have one of their own.
func sized[T any](short, long T, deep ...T) T {
	switch level := os.Getenv("HOGAPI_TEST"); {
	case level == "deep" && len(deep) > 0:
		return deep[0]
	case level == "nightly" || level == "deep":
		return long
	}
	return short
}
