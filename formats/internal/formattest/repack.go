package formattest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// RequireSameEvents checks that records are the same events, with the same uuids, in whatever way they are
// packed and divided, and also when they are rejected first.
func RequireSameEvents(t *testing.T, format hogapi.Format, records [][]byte) {
	t.Helper()
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	good := records[:0:0]
	for _, record := range records {
		if json.Valid(record) { // what is cut off is in no array
			good = append(good, record)
		}
	}
	lines := append(bytes.Join(good, []byte("\n")), '\n')
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(lines)
	require.NoError(t, errors.Join(err, z.Close()))
	half := bytes.Join(good[:len(good)/2], []byte("\n"))

	want := stored(t, hogapi.FileSource(format, write("lines.jsonl", lines)), nil)
	require.NotEmpty(t, want)
	for name, source := range map[string]hogapi.Source{
		"gzip":  hogapi.FileSource(format, write("lines.jsonl.gz", packed.Bytes())),
		"array": hogapi.FileSource(format, write("array.json", fmt.Appendf(nil, "[\n%s]", bytes.Join(good, []byte(" ,\n "))))),
		"files": hogapi.FileSource(format, write("a.jsonl", append(half, '\n')), write("b.jsonl", bytes.TrimLeft(lines[len(half):], "\n"))),
	} {
		require.Equal(t, want, stored(t, source, nil), name)
	}

	rejects := filepath.Join(folder, "rejects")
	bad := format
	bad.Convert = func([]byte) ([]hogapi.Event, error) { return nil, errors.New("not yet") }
	stored(t, hogapi.FileSource(bad, filepath.Join(folder, "lines.jsonl")), hogapi.RejectFile(rejects))
	require.Equal(t, want, stored(t, hogapi.RejectedRecords(rejects, format.Convert), nil), "rejects")
}

// stored is what a service holds after an import. Without a handler, rejects are forgotten.
func stored(t *testing.T, source hogapi.Source, rejects hogapi.RejectHandler) (events []string) {
	t.Helper()
	if rejects == nil {
		rejects = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })
	}
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	require.NoError(t, err)
	_, err = client.Import(t.Context(), source, &hogapi.ImportOptions{
		ID: "repacked", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: rejects,
	})
	require.NoError(t, err)
	for ev := range server.Ledger().Events() {
		events = append(events, fmt.Sprintln(ev.UUID, ev.Event, ev.DistinctID, ev.Timestamp, string(ev.Properties)))
	}
	slices.Sort(events)
	return events
}
