package s3files

import "time"

// Hurry shortens the time of a try and the pauses between them.
func (f *FS) Hurry(try, pause time.Duration) *FS {
	f.tryTime, f.pause = try, pause
	return f
}
