//go:build race

package hogapi_test

func init() { raceDetector = true }
