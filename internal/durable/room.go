package durable

import (
	"errors"
	"fmt"
)

// ErrLimit is the error for more bytes than a Room allows.
var ErrLimit = errors.New("more than the limit")

// Room limits how much somebody else, such as a server, can have written: to a number of bytes, and to the
// free space of the disk.
type Room struct {
	Folder string
	Most   int64 // bytes; 0 or below: no limit

	taken, look int64
}

const (
	spare     = 256 << 20 // that others keep of the disk, or a twentieth of a small one
	share     = 20
	lookEvery = 16 << 20
)

// Take asks for room for n bytes more. The error wraps ErrLimit, or says that the disk is nearly full.
func (r *Room) Take(n int64) error {
	r.taken += n
	if r.Most > 0 && r.taken > r.Most {
		return fmt.Errorf("%w of %d bytes", ErrLimit, r.Most)
	}
	if r.taken < r.look {
		return nil
	}
	r.look = r.taken + lookEvery
	if left, all := free(r.Folder); left < min(spare, all/share) {
		return fmt.Errorf("the disk has %d MiB free, and %d MiB stay free for others", left>>20, min(spare, all/share)>>20)
	}
	return nil
}
