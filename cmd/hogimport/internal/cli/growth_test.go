package cli_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
)

// month writes n events without uuids.
func month(t *testing.T, p *clitest.Program, name string, n int) {
	t.Helper()
	at, err := time.Parse("2006-01", strings.TrimSuffix(filepath.Base(name), ".jsonl"))
	require.NoError(t, err)
	p.Lines(t, name, n, func(i int) string {
		return fmt.Sprintf(`{"event":"visit","distinct_id":"p%d","timestamp":%q}`, i%7, at.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	})
}

// An export grows by a file a month. Check calls new files new, run continues with these, and verify finds all.
func TestAnExportThatGrowsByAFileAMonth(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	run := []string{"run", "x/2024-*.jsonl", "--yes", "--rate", "none"}
	check := func() clitest.Result { return p.Ends(t, 0, "check", "x/2024-*.jsonl") }
	status := func() clitest.Result { return p.Run(t, "status") }
	for i, name := range []string{"x/2024-01.jsonl", "x/2024-02.jsonl", "x/2024-09.jsonl", "x/2024-10.jsonl"} {
		month(t, p, name, 100)
		if i > 0 {
			check().Never(t, "is complete").Out(t, "Not imported: 1 file, "+filepath.Base(name)+".",
				"Import what is new. run knows what is imported and leaves it out. hogimport run ")
		}
		p.Ends(t, 0, run...).Out(t, fmt.Sprintf("Complete: %d events acknowledged", 100*(i+1)))
		assert.Equal(t, 100*(i+1), server.Ledger().Len(), "each is sent once")
		check().Out(t, "An import of these files is complete")
		status().Out(t, "verify")
		p.Ends(t, 0, "verify")
		status().Never(t, "Next") // it is verified, until it grows
		p.Ends(t, 0, run...)
		status().Never(t, "Next") // a run that sends nothing changes nothing
	}
	assert.Regexp(t, `complete +400 +0 +0 +0 +400\n`, status().Stdout)
}

// Files that an import cannot continue in are another import, under another name. No event is sent twice.
func TestNewFilesThatAreAnotherImport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more string
		why  string
		args []string
	}{
		"before it":    {"x/2023-12.jsonl", "the new files do not come after its files", nil},
		"sorted":       {"x/2024-03.jsonl", "the import is sorted as a whole", []string{"--sort"}},
		"a name twice": {"y/2024-02.jsonl", "the new files have the same folder or names as its files", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, p := clitest.Serve(t)
			month(t, p, "x/2024-01.jsonl", 50)
			month(t, p, "x/2024-02.jsonl", 50)
			run := append([]string{"run", "[xy]/20*.jsonl", "--yes", "--rate", "none"}, c.args...)
			p.Ends(t, 0, run...)
			month(t, p, c.more, 60)
			p.Ends(t, 0, run...).Err(t, "Already imported: 2 of these files, by hogimport-state/x. The rest, "+c.more+", becomes another import: "+c.why)
			assert.Equal(t, 160, server.Ledger().Len())
			ids := map[string]int{}
			for e := range server.Ledger().Events() {
				var own struct {
					ID string `json:"$import_job_id"`
				}
				require.NoError(t, json.Unmarshal(e.Properties, &own))
				ids[own.ID]++
			}
			assert.Len(t, ids, 2, "each is found by its own name")
			p.Ends(t, 0, run...)
			assert.Equal(t, 160, server.Ledger().Len())
			all, err := filepath.Glob(filepath.Join(p.Dir, "hogimport-state/*"))
			require.NoError(t, err)
			for _, dir := range all {
				p.Ends(t, 0, "verify", "--state", dir)
			}
		})
	}
}

// A file that has changed is not called imported, and an import that was killed is completed before it takes others.
func TestFilesThatChange(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	month(t, p, "x/2024-01.jsonl", 4000)
	month(t, p, "x/2024-02.jsonl", 50)
	run := []string{"run", "x/*.jsonl", "--yes", "--rate", "none"}
	p.Until(t, func() bool { return server.Ledger().Len() > 1000 }, os.Kill, "run", "x/*.jsonl", "--yes", "--rate", "1000")
	month(t, p, "x/2024-03.jsonl", 50)
	p.Ends(t, 0, run...).Err(t, "New since then: x/2024-03.jsonl. Run the same command again for them.")
	assert.Equal(t, 4050, server.Ledger().Unique())
	p.Ends(t, 0, run...)
	assert.Equal(t, 4100, server.Ledger().Unique())

	month(t, p, "x/2024-03.jsonl", 80) // the last file
	clitest.Says(t, p.Run(t, "check", "x/*.jsonl").Stdout, "Longer than when it was imported: 2024-03.jsonl.")
	p.Ends(t, 0, run...)
	assert.Equal(t, 4130, server.Ledger().Unique())
	clitest.Says(t, p.Run(t, "check", "x/*.jsonl").Stdout, "An import of these files is complete")

	month(t, p, "x/2024-02.jsonl", 60)
	clitest.Says(t, p.Run(t, "check", "x/*.jsonl").Stdout, "1 file has changed since the import 2024-02.jsonl. Added records are not imported.")
	p.Ends(t, 2, run...).Err(t, "changed since the import in hogimport-state/x, so added records would not be sent: x/2024-02.jsonl")
	p.Ends(t, 0, "run", "x/2024-01.jsonl", "x/2024-03.jsonl", "--yes")
	assert.Equal(t, 4130, server.Ledger().Unique())
}

// Files that an import cannot take do not become another import of its name.
func TestANameThatIsTaken(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	run := func(code int, name string) clitest.Result {
		return p.Ends(t, code, "run", "x/20*.jsonl", "--yes", "--rate", "none", "--sort", "--import-id", name)
	}
	month(t, p, "x/2024-01.jsonl", 50)
	run(0, "first")
	month(t, p, "x/2024-02.jsonl", 60)
	clitest.Says(t, run(2, "first").Stderr, "the import first exists and cannot take these files: the import is sorted as a whole")
	assert.Equal(t, 50, server.Ledger().Len())
	run(0, "second")
	assert.Equal(t, 110, server.Ledger().Len())
}

// A file that was renamed after its import looks like a new one: its events would be there twice.
func TestARenamedFileIsNamed(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "old.jsonl", 50, nil)
	p.Ends(t, 0, "run", "old.jsonl", "--yes")
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "old.jsonl"), filepath.Join(p.Dir, "new.jsonl")))
	const text = "warning: new.jsonl has the content of old.jsonl, which hogimport-state/old has: if it is a copy, or was renamed, leave it out, " +
		"since its events would be duplicated"
	clitest.Says(t, p.Ends(t, 0, "check", "new.jsonl").Stderr, text)
	clitest.Says(t, p.Ends(t, 0, "run", "new.jsonl", "--yes").Stderr, text)
	p.Events(t, "other.jsonl", 51, nil)
	assert.NotContains(t, p.Ends(t, 0, "run", "other.jsonl", "--yes").Stderr, "has the content")
}

// withOldState is a program with a state folder that an earlier release has written.
func withOldState(t *testing.T, name, folder string) (*hogapitest.Server, *clitest.Program) {
	t.Helper()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	p := clitest.New(t, server)
	dir := filepath.Join(p.Dir, "hogimport-state", folder)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))))
	text := p.Read(t, "hogimport-state", folder, "import.json")
	text = strings.NewReplacer("DIR", strings.ReplaceAll(p.Dir, `\`, `\\`), "HOST", strings.TrimPrefix(server.URL(), "http://")).Replace(text)
	p.Write(t, filepath.Join("hogimport-state", folder, "import.json"), text)
	return server, p
}

// An import that the release before has begun, and that was killed, is refused with the reason, and nothing is sent.
func TestAnImportOfAnotherMapping(t *testing.T) {
	t.Parallel()
	server, p := withOldState(t, "mapping1/killed", "visits")
	p.Lines(t, "visits.jsonl", 60, func(i int) string {
		return fmt.Sprintf(`{"event":"visit","properties":{"time":%d,"distinct_id":"user-%d","$insert_id":"%016x","$current_url":"https://shop.example/%d"}}`, 1709251200+i*60, i%3, i, i)
	})
	before := p.Read(t, "hogimport-state", "visits", "checkpoint.json")
	for _, args := range [][]string{
		{"run", "visits.jsonl", "--format", "mixpanel", "--zone", "UTC", "--yes"},
		{"run", "--state", "hogimport-state/visits", "--yes"},
	} {
		p.Ends(t, 2, args...).Err(t, "was begun by another release, with version 1 of its mapping", fmt.Sprintf("this release has versions %d and %d, so the rest of it would have other properties", formats.OldestMapping, formats.MappingVersion),
			"Nothing was sent", "use the release of hogimport that began it", "hogimport undo --state hogimport-state/visits").Narrow(t)
	}
	assert.Zero(t, server.Ledger().Len())
	assert.Equal(t, before, p.Read(t, "hogimport-state", "visits", "checkpoint.json"), "the release before can go on")

	// If nothing was sent, the import begins again, with this mapping.
	p.Write(t, "hogimport-state/visits/progress.json", `{"ended":"interrupted"}`)
	p.Write(t, "hogimport-state/visits/checkpoint.json", "")
	p.Ends(t, 0, "run", "--state", "hogimport-state/visits", "--yes", "--rate", "none")
	assert.Equal(t, 60, server.Ledger().Unique())
	assert.Contains(t, p.Read(t, "hogimport-state", "visits", "import.json"), fmt.Sprintf(`"mapping": %d`, formats.MappingVersion))
	p.Ends(t, 0, "run", "--state", "hogimport-state/visits", "--yes", "--rate", "none")
}

// An import that the release before has completed is verified and undone as before, since its events have the same
// uuids. Its rejects and further files are not sent with other properties.
func TestACompleteImportOfAnotherMapping(t *testing.T) {
	t.Parallel()
	server, p := withOldState(t, "mapping1/complete", "rows")
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
		Err(t, "becomes another import: another release with another mapping began the import")
	assert.Equal(t, sent+1, server.Ledger().Len())
	p.Ends(t, 0, "undo", "--state", state, "--yes")
}

// readdress gives a checkpoint the address of the server, as an import there would have written it.
func readdress(t *testing.T, p *clitest.Program, name string) {
	t.Helper()
	target := regexp.MustCompile(`"target":"[0-9a-f]+"`)
	p.Events(t, "one.jsonl", 1, nil)
	p.Ends(t, 0, "run", "one.jsonl", "--yes", "--state", "one")
	_, text, _ := strings.Cut(strings.TrimSuffix(p.Read(t, name), "\n"), "\n")
	text = target.ReplaceAllString(text, target.FindString(p.Read(t, "one", "checkpoint.json")))
	p.Write(t, name, fmt.Sprintf("hogapi checkpoint, sha256 %x\n%s\n", sha256.Sum256([]byte(text)), text))
}

// If NULLs were text when the import of a table began, they stay text: the rest of it, its rejects and the proof follow
// the release that began it. A new import of the table has NULLs.
func TestAnImportKeepsItsMapping(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("testdata/mapping3/rows.csv")
	require.NoError(t, err)
	plans := func(server *hogapitest.Server) (texts, nulls int) {
		for ev := range server.Ledger().Events() {
			if ev.Event == "visit" && strings.Contains(string(ev.Properties), `"plan":`) {
				texts++
			} else if ev.Event == "visit" {
				nulls++
			}
		}
		return texts, nulls
	}

	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		server, p := withOldState(t, "mapping3/killed", "rows")
		p.Write(t, "rows.csv", string(table))
		readdress(t, p, "hogimport-state/rows/checkpoint.json")
		p.Ends(t, 0, "run", "--state", "hogimport-state/rows", "--yes", "--rate", "none", "--max-rejects", "none")
		texts, nulls := plans(server)
		assert.Equal(t, []int{10, 0}, []int{texts, nulls}, "30 rows were sent before")
		assert.NotContains(t, p.Read(t, "hogimport-state/rows/import.json"), `"mapping"`)
	})
	t.Run("complete", func(t *testing.T) {
		t.Parallel()
		server, p := withOldState(t, "mapping3/complete", "rows")
		p.Write(t, "rows.csv", string(table))
		readdress(t, p, "hogimport-state/rows/checkpoint.json")
		flags := []string{"--format", "csv", "--map", "person=person", "--map", "anonymous=device", "--map", "time=time", "--zone", "UTC", "--yes", "--rate", "none", "--max-rejects", "none"}
		p.Ends(t, 0, append([]string{"run", "rows.csv", "--state", "hogimport-state/rows"}, flags...)...)
		texts, _ := plans(server)
		assert.Zero(t, texts, "it is complete")

		p.Ends(t, 0, append([]string{"run", "rows.csv", "--state", "other", "--import-id", "done"}, flags...)...)
		texts, nulls := plans(server)
		assert.Equal(t, []int{19, 20}, []int{texts, nulls}, "another import has NULLs, under the same uuids")
		p.Ends(t, 0, "verify", "--state", "hogimport-state/rows", "--every-uuid")
		const rejects = "hogimport-state/rows/rejects.jsonl"
		p.Write(t, rejects, strings.ReplaceAll(p.Read(t, rejects), `\"never\"`, `\"2024-03-01T00:00:00Z\"`))
		p.Ends(t, 0, "fix", "--state", "hogimport-state/rows", "--yes")
		now, _ := plans(server)
		assert.Equal(t, texts+1, now, "the reject is sent with its text NULL")
	})
}
