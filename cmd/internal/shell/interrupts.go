package shell

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// Interrupts handle Ctrl-C and SIGTERM. The first signal asks a command to finish the requests under way, or
// ends the context if the command cannot; the second one always ends the context, and the third ends the
// program.
type Interrupts struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelCauseFunc
	gently  atomic.Pointer[func()] // nil: the first one ends the context
}

func watchInterrupts(ctx context.Context) (context.Context, *Interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &Interrupts{signals: make(chan os.Signal, 3), done: make(chan struct{}), cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.watch()
	return ctx, i
}

func (i *Interrupts) watch() {
	for {
		select {
		case <-i.done:
			return
		case <-i.signals:
		}
		if gently := i.gently.Swap(nil); gently != nil {
			(*gently)()
			continue
		}
		i.cancel(ErrInterrupted)
		signal.Stop(i.signals) // a further one ends the program
	}
}

// First makes the first signal call a function instead of ending the context. The returned function undoes
// this.
func (i *Interrupts) First(gently func()) (restore func()) {
	i.gently.Store(&gently)
	return func() { i.gently.Store(nil) }
}

// End stops the watch, and ends the context.
func (i *Interrupts) End() {
	signal.Stop(i.signals)
	close(i.done)
	i.cancel(nil)
}
