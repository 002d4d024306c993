package faults

import "os"

// sized chooses the gate's figure or that of the long runs.
func sized[T any](short, long T) T {
	if level := os.Getenv("HOGAPI_TEST"); level == "nightly" || level == "deep" {
		return long
	}
	return short
}
