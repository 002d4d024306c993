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
