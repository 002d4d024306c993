//go:build race

package hogbeam_test

const raceFactor = 4 // the race detector needs memory of its own
