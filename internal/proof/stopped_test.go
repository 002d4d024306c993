package proof_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// An import of a file that is stopped again and again loses nothing, changes nothing and lists each reject once.
func TestImportOfAFileStoppedAtRandom(t *testing.T) {
	t.Parallel()
	const n, inFlight = 2500, 200 // a run that reads more than inFlight events has settled some
	content, good, rejects := mixedLines(n)
	for name, text := range map[string]string{"e.jsonl": content, "e.jsonl.gz": testevents.Gzip(content)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, name, text)
			rejectsPath := filepath.Join(t.TempDir(), "rejects.jsonl")
			checkpoint := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
			server := hogapitest.New()
			testevents.RefusePoison(server)
			client := server.Client(t)
			random := rand.New(rand.NewPCG(uint64(len(name)), 2))
			stops := 0
			for {
				receipt, err := stoppedImport(t, client, hogapi.JSONLinesFile(path), random.IntN(2*inFlight), hogapi.ImportOptions{
					ID: "stopped", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(rejectsPath), Rate: hogapi.Unpaced,
					Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{NoCompression: true, Tuning: hogapi.Tuning{MaxBatchEvents: 50, Lanes: 3, MaxInFlight: inFlight}},
				})
				assert.Equal(t, receipt.Read, receipt.Acknowledged+receipt.Rejected+receipt.Pending)
				if err == nil {
					assert.EqualValues(t, n, receipt.Read)
					assert.EqualValues(t, rejects, receipt.Rejected)
					break
				}
				require.ErrorIs(t, err, context.Canceled)
				stops++
			}
			assert.Greater(t, stops, 10)
			ledger := server.Ledger()
			require.Empty(t, ledger.Missing(good))
			require.Empty(t, ledger.Changed())
			require.Equal(t, len(good), ledger.Unique())
			require.Zero(t, ledger.Inversions(good))
			file, err := os.ReadFile(rejectsPath)
			require.NoError(t, err)
			requireExactRejects(t, file, rejects)
		})
	}
}

// stoppedImport cancels an import after it has read some events.
func stoppedImport(t *testing.T, client *hogapi.Client, source hogapi.Source, after int, o hogapi.ImportOptions) (hogapi.Receipt, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return client.Import(ctx, &stoppingSource{source, after, cancel}, &o)
}

type stoppingSource struct {
	hogapi.Source

	after int
	stop  func()
}

func (s *stoppingSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for ev, err := range s.Source.Events(ctx, after) {
			if s.after--; s.after < 0 {
				s.stop()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
