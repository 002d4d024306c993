//go:build race

package flows_test

func init() { raceDetector = true }
