package watch

import (
	"context"
	"errors"
	"time"
)

var errGoexit = errors.New("the source ended its goroutine")

// RunDetached runs a function in its own goroutine and returns its error. After the end of ctx it waits
// at most for patience, and then abandons the function. A panic becomes an error.
func RunDetached(ctx context.Context, patience time.Duration, f func() error, panicked func(value any) error) (err error, ended bool) { //nolint:revive // the error is the function's
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			}
			done <- err
		}()
		err = f()
	}()
	select {
	case err := <-done:
		return err, true
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err, true
	case <-time.After(patience):
		return nil, false
	}
}

// Repetition calls a function at an interval, one call at a time.
type Repetition struct{ stop, stopped chan struct{} }

// Every begins a Repetition.
func Every(interval time.Duration, f func()) *Repetition {
	r := &Repetition{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(r.stopped)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-r.stop:
				f()
				return
			}
		}
	}()
	return r
}

// End calls the function a last time. A nil Repetition has none.
func (r *Repetition) End() {
	if r == nil {
		return
	}
	close(r.stop)
	<-r.stopped
}
