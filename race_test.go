//go:build race

package hogapi

func init() { raceDetector = true }
