package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hogapi/hogapi/internal/errtext"
)

// PlanFile is a file of a plan, as it was when the plan was made.
type PlanFile struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`            // of the file as it is, packed or not
	Records int64  `json:"records,omitempty"` // 0: not known
}

// PlanFiles describes files for a plan, and reads each to its end. onRead, unless it is nil, is told of the bytes of all of
// them that have been read.
func PlanFiles(ctx context.Context, onRead func(bytes int64), paths ...string) (files []PlanFile, err error) {
	sum := int64(0)
	for _, path := range paths {
		file, err := planFile(ctx, path, func(n int) {
			if sum += int64(n); onRead != nil {
				onRead(sum)
			}
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func planFile(ctx context.Context, path string, onRead func(n int)) (PlanFile, error) {
	f, err := os.Open(path) //nolint:gosec // the caller names the file
	if err != nil {
		return PlanFile{}, err
	}
	defer func() { _ = f.Close() }() // only read
	const atOnce = 1 << 20
	hash, buffer, file := sha256.New(), make([]byte, atOnce), PlanFile{Path: path}
	for {
		if ctx.Err() != nil {
			return file, context.Cause(ctx)
		}
		n, err := f.Read(buffer)
		hash.Write(buffer[:n])
		file.Bytes += int64(n)
		onRead(n)
		if errors.Is(err, io.EOF) {
			file.SHA256 = hex.EncodeToString(hash.Sum(nil))
			return file, nil
		}
		if err != nil {
			return file, err
		}
	}
}

// PlanChange is a file that is no longer as a plan has it.
type PlanChange struct {
	Was, Is PlanFile
	Err     error // why it cannot be read; nil: its content is another one
}

// String says what has changed.
func (c PlanChange) String() string {
	switch {
	case errors.Is(c.Err, fs.ErrNotExist):
		return c.Was.Path + ": the file is gone"
	case c.Err != nil:
		return fmt.Sprintf("%s: the file cannot be read: %v", c.Was.Path, errtext.Pathless(c.Err))
	case c.Was.Bytes != c.Is.Bytes:
		return fmt.Sprintf("%s: %d bytes in the plan, %d now", c.Was.Path, c.Was.Bytes, c.Is.Bytes)
	}
	const shown = 12 // digits
	return fmt.Sprintf("%s: another content of the same size: sha256 %.*s… in the plan, %.*s… now", c.Was.Path, shown, c.Was.SHA256, shown, c.Is.SHA256)
}

// Changes compares the files with the plan, and returns those that differ. It reads each file of the same size to its end.
func (p Plan) Changes(ctx context.Context, onRead func(bytes int64)) (changes []PlanChange, err error) {
	sum := int64(0)
	for _, was := range p.Files {
		change := PlanChange{Was: was, Is: PlanFile{Path: was.Path}}
		info, err := os.Stat(was.Path)
		switch {
		case err != nil:
			change.Err = err
		case info.Size() != was.Bytes:
			change.Is.Bytes = info.Size()
		default:
			change.Is, change.Err = planFile(ctx, was.Path, func(n int) {
				if sum += int64(n); onRead != nil {
					onRead(sum)
				}
			})
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if change.Err != nil || change.Is.Bytes != was.Bytes || change.Is.SHA256 != was.SHA256 {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// Paths returns the files in their order.
func (p Plan) Paths() (paths []string) {
	for _, f := range p.Files {
		paths = append(paths, f.Path)
	}
	return paths
}
