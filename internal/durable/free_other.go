//go:build !darwin && !freebsd && !linux

package durable

func free(string) (left, all int64) { return 0, 0 }
