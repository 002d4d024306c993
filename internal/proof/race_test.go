//go:build race

package proof_test

func init() { raceDetector = true }
