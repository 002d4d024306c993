package faults

import "os"

// sized chooses the gate's figure, that of the long runs, or that of the deep ones where it differs.
func sized[T any](short, long T, deep ...T) T {
	switch level := os.Getenv("HOGAPI_TEST"); {
	case level == "deep" && len(deep) > 0:
		return deep[0]
	case level == "nightly" || level == "deep":
		return long
	}
	return short
}
