package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interrupts are Ctrl-C and SIGTERM. The first one asks a command to finish the requests under way,
// or ends the context if the command cannot; the second one always ends it. The third ends the
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

// first has the first signal call a function instead of ending the context. The function returned takes that back.
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
