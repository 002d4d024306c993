package shell

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
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

	mu     sync.Mutex
	gently func() // nil: the first one ends the context
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
		i.mu.Lock()
		gently := i.gently
		i.gently = nil
		i.mu.Unlock()
		if gently != nil {
			gently()
			continue
		}
		i.cancel(ErrInterrupted)
		signal.Stop(i.signals) // a further one ends the program
	}
}

// First makes the first signal call a function instead of ending the context. The returned function undoes
// this.
func (i *Interrupts) First(gently func()) (restore func()) {
	set := func(f func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gently = f
	}
	set(gently)
	return func() { set(nil) }
}

// End stops the watch, and ends the context.
func (i *Interrupts) End() {
	signal.Stop(i.signals)
	close(i.done)
	i.cancel(nil)
}
