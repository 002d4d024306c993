//go:build race

package hogapi

func init() { RaceDetector = true }
