package s3files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// maxTries is how many tries in a row may bring nothing of a range before reading fails. The
// retries of the *s3.Client are within each of them.
const maxTries = 5

// The sizes of ranges, in bytes.
const (
	firstRange = 256 << 10
	maxRange   = 4 << 20
)

type file struct {
	fsys *FS
	name string
	info *info

	ctx    context.Context // Read has no other way
	cancel context.CancelFunc

	mu     sync.Mutex // guards the fields below
	begin  int64      // of the range
	text   []byte     // the range that was read last
	offset int64      // of Read
}

func newFile(fsys *FS, name string, of *info) *file {
	f := &file{fsys: fsys, name: name, info: of}
	f.ctx, f.cancel = context.WithCancel(fsys.ctx)
	return f
}

// Stat implements [fs.File]. It describes the first version of the object that was seen.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements [fs.File]. It ends a read that is under way.
func (f *file) Close() error {
	f.cancel()
	return nil
}

func (f *file) Read(p []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err = f.readSome(p, f.offset)
	f.offset += int64(n)
	return n, err
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.info.size
	}
	if offset < 0 {
		return 0, f.failed(fs.ErrInvalid)
	}
	f.offset = offset
	return offset, nil
}

func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, f.failed(fs.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(p) && err == nil {
		var more int
		more, err = f.readSome(p[n:], offset+int64(n))
		n += more
	}
	return n, err
}

func (f *file) readSome(p []byte, offset int64) (n int, err error) {
	switch {
	case f.ctx.Err() != nil && f.fsys.ctx.Err() == nil:
		return 0, f.failed(fs.ErrClosed)
	case len(p) == 0:
		return 0, nil
	case offset >= f.info.size:
		return 0, io.EOF
	}
	if offset < f.begin || offset >= f.begin+int64(len(f.text)) {
		if err := f.fetch(offset); err != nil {
			return 0, f.failed(err)
		}
	}
	return copy(p, f.text[offset-f.begin:]), nil
}

func (f *file) failed(err error) error { return &fs.PathError{Op: "read", Path: f.name, Err: err} }

// fetch reads the range that begins at an offset: a larger one each time that it follows the one
// before.
func (f *file) fetch(offset int64) error {
	size := firstRange
	if len(f.text) > 0 && offset == f.begin+int64(len(f.text)) {
		size = min(2*len(f.text), maxRange)
	}
	size = int(min(int64(size), f.info.size-offset))
	text := slices.Grow(f.text[:0], size)[:size]
	f.text = nil // until it is whole
	for got, failures := 0, 0; got < size; {
		n, err := f.try(text[got:], offset+int64(got))
		if got += n; err == nil {
			continue
		}
		if n > 0 {
			failures = 0
		}
		failures++
		if cut, isCut := errors.AsType[*cutError](err); !isCut {
			return err
		} else if failures >= maxTries {
			return fmt.Errorf("run again when the storage answers: %d tries from byte %d on brought nothing, at last: %w", failures, offset+int64(got), cut)
		}
		if err := f.wait(f.fsys.pause << (failures - 1)); err != nil {
			return err
		}
	}
	f.begin, f.text = offset, text
	return nil
}

func (f *file) wait(d time.Duration) error {
	select {
	case <-f.ctx.Done():
		return f.ended()
	case <-time.After(d):
		return nil
	}
}

// ended is why the file cannot be read any more.
func (f *file) ended() error {
	if err := f.fsys.ctx.Err(); err != nil {
		return err
	}
	return fs.ErrClosed
}

// cutError is a try that brought less than it asked for. The next one may bring the rest.
type cutError struct{ cause error }

func (e *cutError) Error() string { return "the answer was cut off: " + e.cause.Error() }
func (e *cutError) Unwrap() error { return e.cause }

func (f *file) try(text []byte, offset int64) (n int, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, f.fsys.tryTime)
	defer cancel()
	last := offset + int64(len(text)) - 1
	out, err := f.fsys.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &f.fsys.bucket, Key: aws.String(f.fsys.prefix + f.name), IfMatch: &f.info.etag,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, last)),
	}, quiet)
	switch {
	case f.ctx.Err() != nil:
		if err == nil {
			_ = out.Body.Close()
		}
		return 0, f.ended()
	case err != nil && ctx.Err() != nil:
		return 0, &cutError{ctx.Err()} // it took too long
	case err != nil:
		return 0, plain(err)
	}
	defer out.Body.Close()
	want := fmt.Sprintf("bytes %d-%d/%d", offset, last, f.info.size)
	switch {
	case aws.ToString(out.ETag) != f.info.etag:
		return 0, ErrReplaced // by a service that does not know If-Match
	case aws.ToString(out.ContentRange) != want:
		return 0, fmt.Errorf("the service was asked for %q of the object and sent %q", want, aws.ToString(out.ContentRange))
	}
	n, err = io.ReadFull(out.Body, text)
	switch {
	case err == nil:
		return n, nil
	case f.ctx.Err() != nil:
		return n, f.ended()
	}
	return n, &cutError{plain(err)}
}
