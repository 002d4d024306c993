package cli

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/hogapi/hogapi"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interrupts handle Ctrl-C and SIGTERM. The first signal asks a command to finish the requests under way, or
// ends the context if the command cannot; the second one always ends the context, and the third ends the
// program.
type interrupts struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	gently func() // nil: the first one ends the context
}

func watchInterrupts(ctx context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interrupts{signals: make(chan os.Signal, 3), done: make(chan struct{}), cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.watch()
	return ctx, i
}

func (i *interrupts) watch() {
	for {
		select {
		case <-i.done:
			return
		case <-i.signals:
		}
		i.mu.Lock()
		gently := i.gently
		i.gently = nil
		i.mu.Unlock()
		if gently != nil {
			gently()
			continue
		}
		i.cancel(errInterrupted)
		signal.Stop(i.signals) // a further one ends the program
	}
}

// first makes the first signal call a function instead of ending the context. The returned function undoes
// this.
func (i *interrupts) first(gently func()) (restore func()) {
	set := func(f func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gently = f
	}
	set(gently)
	return func() { set(nil) }
}

func (i *interrupts) end() {
	signal.Stop(i.signals)
	close(i.done)
	i.cancel(nil)
}

// stoppable is a source that ends with errInterrupted on request: the import then settles the events that it
// has taken.
type stoppable struct {
	hogapi.Source
	asked context.Context //nolint:containedctx // it stands for the wish to stop, not for a call
}

// Unwrap returns the source.
func (s stoppable) Unwrap() hogapi.Source { return s.Source }

// Events implements hogapi.Source.
func (s stoppable) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.asked, func() { cancel(errInterrupted) })() //nolint:contextcheck // another wish than ctx
		for ev, err := range s.Source.Events(ctx, after) {
			if s.asked.Err() != nil {
				break
			}
			if !yield(ev, err) {
				return
			}
		}
		if s.asked.Err() != nil {
			yield(hogapi.Event{}, errInterrupted)
		}
	}
}
