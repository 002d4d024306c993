package proof

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

// TestRollingDeploy ends each worker with SIGTERM while two imports run, and starts another one. The new worker takes over at once, not
// after a heartbeat time-out, and only events in flight are sent again.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	const (
		perImport = 20_000
		heartbeat = 10 * time.Second
	)
	s := newSite(t)
	s.args = []string{"--store", s.store()}
	s.startWorker()
	s.startWorker()
	imports := map[string]events{}
	for _, id := range []string{"first", "second"} {
		all := writeEvents(t, filepath.Join(s.dir, id), perImport, 2)
		imports[id] = all // the same events in both
		require.NoError(t, hogtemporal.Start(t.Context(), s.client, hogtemporal.ImportParams{ID: id, Shards: all.shards, Rate: 1000, Heartbeat: heartbeat}))
	}
	for id := range imports {
		s.until(id, sending)
	}
	for range 2 {
		p := s.workers[0]
		s.workers = s.workers[1:]
		s.ended = append(s.ended, p)
		s.startWorker()
		began := time.Now()
		p.end(syscall.SIGTERM)
		assert.Less(t, time.Since(began), 8*time.Second, "it puts its work away")
		for id := range imports {
			s.until(id, func(st hogtemporal.Status) bool {
				return st.State == hogtemporal.StateComplete || st.Beat != nil && st.Beat.Worker != p.name
			})
		}
		assert.Less(t, time.Since(began), heartbeat, "others have it before the heartbeat time-out")
	}
	for id, all := range imports {
		out := s.wait(id)
		assert.EqualValues(t, len(all.ids), out.Receipt.Acknowledged)
		assert.Equal(t, all.digest(), out.Receipt.Digest)
	}
	ledger := s.service.fake.Ledger()
	for _, all := range imports {
		assert.Empty(t, ledger.Missing(all.ids))
	}
	assert.LessOrEqual(t, ledger.Duplicates(), perImport+4*inFlight, "each event twice, by two imports, and what was in flight")
	s.noKeys()
}
