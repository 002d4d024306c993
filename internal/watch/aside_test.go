package watch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunDetached(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	panicked := func(value any) error { return fmt.Errorf("panic: %v", value) }
	for name, tt := range map[string]struct {
		f     func() error
		want  string
		ended bool
		took  time.Duration
	}{
		"ends":       {func() error { return failed }, "failed", true, 0},
		"panics":     {func() error { panic("oh") }, "panic: oh", true, 0},
		"goexit":     {func() error { runtime.Goexit(); return nil }, "the source ended its goroutine", true, 0},
		"in time":    {func() error { time.Sleep(5 * time.Second); return failed }, "failed", true, 5 * time.Second},
		"left alone": {func() error { time.Sleep(time.Minute); return failed }, "", false, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				err, ended := RunDetached(ctx, 10*time.Second, tt.f, panicked)
				assert.Equal(t, tt.ended, ended)
				if tt.want != "" {
					require.EqualError(t, err, tt.want)
				}
				assert.Equal(t, tt.took, time.Since(begin))
				time.Sleep(time.Minute) // until the abandoned function has ended
			})
		})
	}
}

func TestEvery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		every := Every(time.Second, func() { n++ })
		time.Sleep(3500 * time.Millisecond)
		every.End()
		assert.Equal(t, 4, n, "three, and one at the end")
	})
}
