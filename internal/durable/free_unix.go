//go:build darwin || freebsd || linux

package durable

import "syscall"

// free returns the number of bytes of a folder's disk that this user can write, and its size; 0 stands for not
// known.
func free(folder string) (left, all int64) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, 0
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize) //nolint:unconvert // they differ by system
}
