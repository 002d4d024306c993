package hogapi

import "github.com/hogapi/hogapi/internal/durable"

// What external tests see of the inside.

// FileCheckpointOn is FileCheckpoint on another file system.
func FileCheckpointOn(fsys durable.FS, path string) Checkpointer {
	return &fileCheckpoint{fs: fsys, path: path}
}

// RejectFileOn is RejectFile on another file system.
func RejectFileOn(fsys durable.FS, path string) RejectHandler {
	return &rejectFile{fs: fsys, path: path}
}

// BadRecord is what BadEvent was given.
func BadRecord(ev Event) (raw []byte, err error) {
	if ev.bad == nil {
		return nil, nil
	}
	return ev.bad.raw, ev.bad.err
}
