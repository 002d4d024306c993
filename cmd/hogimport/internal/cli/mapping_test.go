package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
)

// withOldState is a program with a state folder that the release before versions of mappings has written.
func withOldState(t *testing.T, name, folder string) (*hogapitest.Server, *clitest.Program) {
	t.Helper()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	p := clitest.New(t, server)
	dir := filepath.Join(p.Dir, "hogimport-state", folder)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "mapping1", name))))
	text := p.Read(t, "hogimport-state", folder, "import.json")
	text = strings.NewReplacer("DIR", strings.ReplaceAll(p.Dir, `\`, `\\`), "HOST", strings.TrimPrefix(server.URL(), "http://")).Replace(text)
	p.Write(t, filepath.Join("hogimport-state", folder, "import.json"), text)
	return server, p
}

// An import that the release before has begun, and that was killed, is refused with the reason, and nothing is sent.
func TestAnImportOfAnotherMapping(t *testing.T) {
	t.Parallel()
	server, p := withOldState(t, "killed", "visits")
	p.Lines(t, "visits.jsonl", 60, func(i int) string {
		return fmt.Sprintf(`{"event":"visit","properties":{"time":%d,"distinct_id":"user-%d","$insert_id":"%016x","$current_url":"https://shop.example/%d"}}`, 1709251200+i*60, i%3, i, i)
	})
	before := p.Read(t, "hogimport-state", "visits", "checkpoint.json")
	for _, args := range [][]string{
		{"run", "visits.jsonl", "--format", "mixpanel", "--zone", "UTC", "--yes"},
		{"run", "--state", "hogimport-state/visits", "--yes"},
	} {
		r := p.Ends(t, 2, args...)
		r.Err(t, "was begun by another release, with version 1 of its mapping", fmt.Sprintf("this release has version %d, so the rest of it would have other properties", formats.MappingVersion),
			"Nothing was sent", "use the release of hogimport that began it", "hogimport undo --state hogimport-state/visits").Narrow(t)
	}
	assert.Zero(t, server.Ledger().Len())
	assert.Equal(t, before, p.Read(t, "hogimport-state", "visits", "checkpoint.json"), "the release before can go on")

	// If nothing was sent, the import begins again, with this mapping.
	p.Write(t, "hogimport-state/visits/progress.json", `{"ended":"interrupted"}`)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "hogimport-state", "visits", "checkpoint.json"), nil, 0o600))
	p.Ends(t, 0, "run", "--state", "hogimport-state/visits", "--yes", "--rate", "none")
	assert.Equal(t, 60, server.Ledger().Unique())
	assert.Contains(t, p.Read(t, "hogimport-state", "visits", "import.json"), fmt.Sprintf(`"mapping": %d`, formats.MappingVersion))
	p.Ends(t, 0, "run", "--state", "hogimport-state/visits", "--yes", "--rate", "none")
}

// An import that the release before has completed is verified and undone as before, since its events have the same
// uuids. Its rejects and further files are not sent with other properties.
func TestACompleteImportOfAnotherMapping(t *testing.T) {
	t.Parallel()
	server, p := withOldState(t, "complete", "rows")
	row := func(i int) string {
		at := fmt.Sprintf("2024-03-01 00:%02d:00.000000", (i*7)%60)
		if i == 5 {
			at = "never"
		}
		return fmt.Sprintf(`{"event_type":"visit","user_id":"user-%d","device_id":"device-%d","event_time":%q,"session_id":%d,"uuid":"0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e%02d"}`, i%3, i%3, at, 1709251200000, i)
	}
	p.Lines(t, "rows.jsonl", 12, row)
	const id = "hogimport-rows-3a58e006-1bf6"
	p.Ends(t, 0, "run", "rows.jsonl", "--format", "amplitude", "--state", "other", "--import-id", id, "--yes", "--rate", "none", "--max-rejects", "none")
	sent := server.Ledger().Len()
	require.Equal(t, 11, sent)

	const state = "hogimport-state/rows"
	p.Ends(t, 0, "verify", "--state", state, "--every-uuid")
	for _, args := range [][]string{
		{"run", "rows.jsonl", "--format", "amplitude", "--sort", "--yes"}, {"fix", "--state", state, "--yes"},
	} {
		p.Ends(t, 2, args...).Err(t, "with version 1 of its mapping", "It is complete: hogimport verify and hogimport undo do their work as before.")
	}
	p.Lines(t, "more.jsonl", 1, func(int) string { return row(20) })
	p.Ends(t, 0, "run", "rows.jsonl", "more.jsonl", "--format", "amplitude", "--sort", "--yes").
		Err(t, "becomes another import: another release began it, which makes other properties")
	assert.Equal(t, sent+1, server.Ledger().Len())
	p.Ends(t, 0, "undo", "--state", state, "--yes")
}
