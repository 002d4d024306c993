//go:build !windows

package durable

import "os"

func rename(from, to string) error { return os.Rename(from, to) }
