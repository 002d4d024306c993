package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
)

// Nothing that an import leaves behind has a key in it, though the service repeats both in every refusal: the checkpoint, the reject
// file, the receipt, the progress, the hooks and the log.
func TestNoSecretInFiles(t *testing.T) {
	folder := t.TempDir()
	var log, hooks, progress bytes.Buffer
	var saved Position
	var mu sync.Mutex
	tell := func(e any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&hooks, "%+v %#v\n", e, e)
	}
	transport := newScript(fails(errors.New("no route for "+testProjectKey)), func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("refuse me")) {
			return answer(r, 400, `{"detail":"`+testPersonalKey+`","attr":"`+testProjectKey+`"}`+string(body[:min(len(body), 3000)]), "X-Request-Id", testProjectKey), err
		}
		return answer(r, 200, `{"status":"Ok","key":"`+testProjectKey+`"}`), err
	})
	client := newFakeClient(t, transport, WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), WithHooks(Hooks{
		OnBatch: func(e BatchInfo) { tell(e) },
		OnCheckpoint: func(e CheckpointInfo) {
			tell(e)
			saved = e.Position
		},
	}))
	source := SourceFunc("s", func(_ context.Context, after Position) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			for i := after.Offset + 1; i <= 20; i++ {
				ev := testEvent()
				ev.UUID, ev.Position = uuid.Nil, Position{Offset: i}
				switch i % 5 {
				case 1:
					ev.Name = "refuse me"
				case 2:
					ev.DistinctID = "" // the gate does
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	receipt, err := client.Import(t.Context(), source, &ImportOptions{
		ID: "canary", MaxRejectShare: -1, Checkpoint: FileCheckpoint(filepath.Join(folder, "ckpt")), Rejects: RejectFile(filepath.Join(folder, "rejects")),
		OnProgress: func(s Stats) { fmt.Fprintf(&progress, "%+v %v\n", s, s) }, Delivery: DeliveryOptions{Lanes: 1, NoCompression: true, NoPreflight: true, Protocol: ProtocolBatch},
	})
	require.NoError(t, err)
	require.EqualValues(t, 8, receipt.Rejected)
	asJSON, err := json.Marshal(receipt)
	require.NoError(t, err)
	requireNoSecretIn(t, "the receipt", receipt.String()+receipt.TotalQuery().String()+string(asJSON))
	require.Contains(t, log.String(), "batch")
	requireNoSecretIn(t, "the log", log.String())
	require.Equal(t, Position{Offset: 20}, saved, "at the last checkpoint")
	require.Contains(t, hooks.String(), "no route for")
	requireNoSecretIn(t, "the hooks", hooks.String())
	require.NotEmpty(t, progress.String())
	requireNoSecretIn(t, "the progress", progress.String())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(left), 2)
	for _, entry := range left {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		requireNoSecretIn(t, entry.Name(), string(content))
	}
}

// What a program prints when it ends by a panic with a value of this package has no key in it.
func TestNoSecretInAPanic(t *testing.T) {
	const task = "HOGAPI_TEST_PANIC"
	client := newFakeClient(t, newScript(answers(403, `{"detail":"`+testPersonalKey+`"}`)))
	_, err := client.BatchExports.Get(t.Context(), exportA)
	values := map[string]any{
		"error": err, "client": client, "copy": *client, "secret": NewSecret(testCredential), "optional": Set(NewSecret(testCredential)), "option": WithPersonalAPIKey(testPersonalKey),
		"config": destination.S3{AWSSecretAccessKey: Set(NewSecret(testCredential))}, "raw": destination.Raw(`{"password":"` + testCredential + `"}`),
	}
	if name := os.Getenv(task); name != "" {
		panic(values[name])
	}
	for name := range values {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoSecretInAPanic$")
		child.Env = append(os.Environ(), task+"="+name)
		output, err := child.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "panic: ")
		requireNoSecretIn(t, "a panic with "+name, string(output))
	}
}
