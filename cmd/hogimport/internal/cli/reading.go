package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi"
)

// reading says now and then that files are being read.
type reading struct {
	records atomic.Int64 // 0: they are not counted
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

const readingLine = 20 * time.Second

func (a *app) showReading(ctx context.Context) *reading {
	r := &reading{}
	ctx, r.cancel = context.WithCancel(ctx)
	begun := time.Now()
	r.ended.Go(func() {
		tick := time.NewTicker(readingLine)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			text := fmt.Sprintf("reading the files, for %v", time.Since(begun).Round(time.Second))
			if n := r.records.Load(); n > 0 {
				text += fmt.Sprintf(": %d records so far", n)
			}
			a.say(text)
		}
	})
	return r
}

// end returns when nothing more is written.
func (r *reading) end() {
	r.cancel()
	r.ended.Wait()
}

// say writes a line about what is happening.
func (a *app) say(text string) {
	if a.log == "json" {
		a.logger().Info(text)
		return
	}
	fmt.Fprintln(a.stderr, wrapped(text))
}

// warn writes what a user should know, and what is no error.
func (a *app) warn(text string) {
	if a.log == "json" {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.stderr, wrapped("hogimport: warning: "+text))
}

// checkFault is why files could not be read to their end.
func checkFault(err error) error {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &fault{code: codeStopped, text: "interrupted: nothing was written", todo: "run the same command again", err: err}
	}
	if input, ok := errors.AsType[*hogapi.InputError](err); ok {
		return &fault{code: codeUsage, text: inFlags(input), err: err}
	}
	text := strings.TrimPrefix(inFlags(err), "check: ")
	return &fault{code: codeOther, text: text, todo: "nothing was written; correct the file, or leave it out, and check again", err: err}
}

// bareFileError is what happened to a file, without its path.
func bareFileError(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return cause.Err
	}
	return err
}
