// Package download moves a file from a storage to a writer or into a folder. What is cut off
// resumes where it was, all bytes are of one version of the file, and what is not whole is an error.
//
// The package knows the storage only. Its caller says how to get a URL and what an error looks
// like. These URLs are signed, so they are secrets: no error quotes them, or the text of a transport.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/watch"
)

// Config says how to get one file. Its functions are called one at a time.
type Config struct {
	Locate func(context.Context) (*url.URL, error)           // a fresh URL of the file, for one try
	Do     func(*http.Request) (*http.Response, error)       // one request: no redirects, nothing added
	Failed func(have Progress, cause error) (complete error) // the error of a file that is not whole

	Changed error          // the cause, where the storage has another file than the one that was begun
	Retry   httptry.Policy // of tries without a new byte
	Idle    time.Duration  // a try ends when no byte has arrived for so long
}

// Progress is how much of which file a writer has.
type Progress struct {
	At    int64  // bytes written
	Size  int64  // of the file; -1 if it is not known
	ETag  string // of the first try whose storage gave one
	Tries int    // requests to the storage
}

// File writes to w what it has not yet, and returns the size of the file.
func File(ctx context.Context, c Config, w io.Writer, have Progress) (size int64, err error) {
	t := newTransfer(c, w, have)
	if err := t.run(ctx); err != nil {
		return 0, err
	}
	return t.Size, nil
}

// transfer is one file on its way, over all tries.
type transfer struct {
	Config
	Progress

	w      io.Writer
	noGzip bool // the file is not stored as gzip
}

// newTransfer continues what the writer has. Of a file that it has nothing of, any version is fine.
func newTransfer(c Config, w io.Writer, have Progress) *transfer {
	t := &transfer{Config: c, Progress: Progress{At: have.At, Size: -1}, w: w}
	if have.At > 0 {
		t.ETag = have.ETag
		if have.Size > 0 {
			t.Size = have.Size
		}
	}
	return t
}

// passing is an error that another try, with a URL of its own, may not meet.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

func (t *transfer) run(ctx context.Context) error {
	if err := t.untilWhole(ctx); err != nil {
		return t.Failed(t.Progress, err)
	}
	return nil
}

// untilWhole tries until the file is whole, or no further try can help.
func (t *transfer) untilWhole(ctx context.Context) error {
	for failures := 0; ; {
		before := t.At
		err := t.try(ctx)
		if err == nil {
			return nil
		}
		if ctx != nil && ctx.Err() != nil {
			return ended(ctx, err)
		}
		if t.At > before {
			failures = 0
		}
		failures++
		again, ok := errors.AsType[passing](err)
		if !ok {
			return err
		}
		if failures >= t.Retry.MaxTries {
			return again.error
		}
		if !watch.Sleep(ctx, httptry.Jitter(t.Retry.BaseDelay, t.Retry.MaxDelay, failures, httptry.Random())) {
			return ended(ctx, again.error)
		}
	}
}

// ended is the error of a download whose context has ended.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (the call was ended: %w)", err, httptry.ContextError(ctx))
}

// try asks for a URL and reads from it what is missing.
func (t *transfer) try(ctx context.Context) error {
	where, err := t.Locate(ctx)
	if err != nil {
		return err
	}
	t.Tries++
	return t.read(ctx, where)
}
