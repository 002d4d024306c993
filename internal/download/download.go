// Package download moves a file from a storage to a writer or into a folder. It resumes interrupted
// downloads, keeps all bytes to one version of the file, and returns an error unless the file is
// whole.
//
// The package knows the storage only. Its caller provides URLs and errors. These URLs are signed,
// so they are secrets: no error quotes them or the text of a transport.
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

// Config configures the download of one file. Its functions are called one at a time.
type Config struct {
	Locate func(context.Context) (*url.URL, error)           // a new URL of the file for each try
	Do     func(*http.Request) (*http.Response, error)       // one request, without redirects and changes
	Failed func(have Progress, cause error) (complete error) // the error for an incomplete file

	Changed error          // the cause if the storage's file has changed since the start
	Retry   httptry.Policy // for tries without a new byte
	Idle    time.Duration  // a try ends if no byte arrives for this time
}

// Progress says which file a writer has, and how much of it.
type Progress struct {
	At    int64  // bytes written
	Size  int64  // of the file; -1 if not known
	ETag  string // of the first answer with one
	Tries int    // requests to the storage
}

// File writes the missing bytes to w, and returns the size of the file.
func File(ctx context.Context, c Config, w io.Writer, have Progress) (size int64, err error) {
	t := newTransfer(c, w, have)
	if err := t.run(ctx); err != nil {
		return 0, err
	}
	return t.Size, nil
}

type transfer struct {
	Config
	Progress

	w      io.Writer
	noGzip bool // the file is not stored as gzip
}

// newTransfer continues a download. If the writer has no bytes, it accepts any version.
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

// passing is an error that may not recur with another URL.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

func (t *transfer) run(ctx context.Context) error {
	if err := t.untilWhole(ctx); err != nil {
		return t.Failed(t.Progress, err)
	}
	return nil
}

// untilWhole tries until the file is whole or further tries are useless.
func (t *transfer) untilWhole(ctx context.Context) error {
	for failures := 0; ; {
		before := t.At
		where, err := t.Locate(ctx)
		if err == nil {
			t.Tries++
			err = t.read(ctx, where)
		}
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

func ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (the call was ended: %w)", err, httptry.ContextError(ctx))
}
