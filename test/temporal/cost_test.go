package proof

import (
	"math"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	hogtemporal "github.com/hogapi/hogapi/temporal"
)

// TestCost compares an import by a worker, unpaced, with Import of the same files in one process. In the long form the shards have 100
// MB.
func TestCost(t *testing.T) {
	n, long := testevents.Sized(40_000, 520_000), testevents.Sized(false, true)
	s := newSite(t)
	s.args = []string{"--store", s.store()}
	all := writeEvents(t, filepath.Join(s.dir, "events"), n, 2)
	var paths []string
	for _, shard := range all.shards {
		paths = append(paths, shard.Path)
	}
	type cost struct {
		wall, cpu time.Duration
		peak      int64
	}
	plain := func() cost {
		began := time.Now()
		p := s.start("plain", plainProgram, []string{
			"POSTHOG_HOST=" + s.service.url, "POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey,
		}, append([]string{filepath.Join(t.TempDir(), "plain.ckpt")}, paths...)...)
		<-p.done
		require.True(t, p.cmd.ProcessState.Success())
		return cost{time.Since(began), p.cpu(), 0}
	}
	durable := func(id string) cost {
		w := s.startWorker()
		s.workers = nil
		defer func() { s.ended = append(s.ended, w) }()
		require.Eventually(t, func() bool {
			d, err := s.client.DescribeTaskQueue(t.Context(), hogtemporal.TaskQueue, enums.TASK_QUEUE_TYPE_ACTIVITY)
			return err == nil && len(d.GetPollers()) > 0 && d.GetPollers()[0].GetIdentity() == w.name
		}, 10*time.Second, 20*time.Millisecond, "it is ready")
		before, began := w.cpu(), time.Now()
		require.NoError(t, hogtemporal.Start(t.Context(), s.client, hogtemporal.ImportParams{
			ID: id, Shards: all.shards, Rate: hogapi.RateUnlimited, NoCheck: true, NoVerify: true,
		}))
		out := s.wait(id)
		wall := time.Since(began)
		require.EqualValues(t, n, out.Receipt.Acknowledged)
		used := w.cpu() - before
		w.look()
		w.end(syscall.SIGTERM)
		return cost{wall, used, w.peak}
	}
	// Other programs use this machine too. The test compares the best times of three runs in turns, with a bar that a busy machine keeps;
	// its log has the ratios, which are below 1.1 on a quiet one.
	one := cost{math.MaxInt64, math.MaxInt64, 0}
	many := one
	tooMuch := func(many, one time.Duration) bool { return many*2 > one*3 }
	for i := range 3 {
		p, d := plain(), durable(string(rune('a'+i)))
		one = cost{min(one.wall, p.wall), min(one.cpu, p.cpu), 0}
		many = cost{min(many.wall, d.wall), min(many.cpu, d.cpu), max(many.peak, d.peak)}
	}
	history := s.history("a")
	t.Logf("%d events: Import took %v and %v of CPU, %v an event; a worker %v and %v (%.2f and %.2f times as much), at most %d MiB; %d history events for 2 shards",
		n, one.wall.Round(time.Millisecond), one.cpu.Round(time.Millisecond), one.cpu/time.Duration(n), many.wall.Round(time.Millisecond), many.cpu.Round(time.Millisecond),
		float64(many.wall)/float64(one.wall), float64(many.cpu)/float64(one.cpu), many.peak>>20, history)
	assert.LessOrEqual(t, many.peak, int64(96<<20))
	assert.LessOrEqual(t, history, int64(60), "history events do not depend on how many events a shard has")
	if long {
		assert.False(t, tooMuch(many.wall, one.wall), "more than 1.5 times the time of Import")
		assert.False(t, tooMuch(many.cpu, one.cpu), "more than 1.5 times the CPU of Import")
	}
}
