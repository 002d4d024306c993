//go:build linux

package diskcalls

import "golang.org/x/sys/unix"

const statCall = unix.SYS_FSTATAT
