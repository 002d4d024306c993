//go:build !race

package hogbeam_test

const raceFactor = 1
