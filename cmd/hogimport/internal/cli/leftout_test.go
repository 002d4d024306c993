//go:build unix

package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
)

type leftOutLine struct {
	Where, Reason string
	Record        json.RawMessage
}

func listed(t *testing.T, path string) (lines []leftOutLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var one leftOutLine
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		lines = append(lines, one)
	}
	return lines
}

// nameless writes two packed exports in two folders, in which each of some lines names no person. It returns the places
// of these lines, with their text.
func nameless(t *testing.T, p *clitest.Program) (places, records []string) {
	t.Helper()
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for f, name := range []string{"2023/a.json.gz", "b.json.gz"} {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		for i := range 300 {
			id := fmt.Sprintf(`"distinct_id":"u%d",`, i%9)
			if i%7 == 3 {
				id = ""
			}
			line := fmt.Sprintf(`{"event":"a <b> & c","properties":{"time":%d,%s"$insert_id":"%d-%d","n":12345678901234567890}}`,
				at.Add(time.Duration(i)*time.Hour).Unix(), id, f, i)
			fmt.Fprintln(packed, line)
			if id == "" {
				places, records = append(places, fmt.Sprintf("%s:%d", name, i+1)), append(records, line)
			}
		}
		require.NoError(t, packed.Close())
		path := filepath.Join(p.Dir, "export", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	}
	return places, records
}

// shown is the command of a text that lists records that are left out.
func shown(t *testing.T, text string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ +(hogimport check .* --left-out .*)$`).FindStringSubmatch(strings.ReplaceAll(text, " \\\n     ", ""))
	require.NotNil(t, found, text)
	return found[1]
}

func requireShell(t *testing.T, p *clitest.Program, command string) clitest.Result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = p.Dir, append(p.Env, "PATH="+filepath.Dir(clitest.Binary(t)))
	r := clitest.Finish(t, cmd)
	require.Equal(t, 0, r.Code, "%s\n%s", command, r.Stderr)
	return r
}

// Each record that is left out can be had, with its place and its reason, by a command that check and run show.
func TestAllRecordsThatAreLeftOutAreListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	places, records := nameless(t, p)
	files := []string{"export/2023/a.json.gz", "export/b.json.gz", "--format", "mixpanel", "--zone", "UTC"}
	r := p.Ends(t, 0, append([]string{"check"}, files...)...)
	requireNarrow(t, r.Stdout)
	done := p.Ends(t, 0, append([]string{"run", "--yes", "--rate", "none", "--sort", "--links"}, files...)...)
	assert.Contains(t, done.Stdout, fmt.Sprintf("Left out: %d,", len(places)))
	for _, text := range []string{r.Stdout, done.Stdout} {
		said := requireShell(t, p, shown(t, text))
		says(t, said.Stdout, fmt.Sprintf("All %d records that are left out are in left-out.txt.", len(places)))
		assert.NotContains(t, said.Stdout, "--left-out", "the list is there")
		lines := listed(t, filepath.Join(p.Dir, "left-out.txt"))
		require.Len(t, lines, len(places))
		for i, line := range lines {
			require.Equal(t, leftOutLine{places[i], "no id", json.RawMessage(records[i])}, line)
		}
		require.NoError(t, os.Remove(filepath.Join(p.Dir, "left-out.txt")))
	}
}

// The list has records that --until leaves out, of formats and of lines that are events.
func TestWhatUntilLeavesOutIsListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "e.jsonl", 100, func(i int) bool { return i == 70 })
	export(t, p.Dir, "export.jsonl", 100, 0, time.UTC)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"e.jsonl", "--until", "2024-01-01T01:00:00Z", "--max-rejects", "5%"}, 39},
		{[]string{"export.jsonl", "--format", "mixpanel", "--until", "2023-01-08"}, 76},
		{[]string{"e.jsonl", "--max-rejects", "5%"}, 0},
	} {
		p.Ends(t, 0, append([]string{"check", "--left-out", "list"}, c.args...)...)
		lines := listed(t, filepath.Join(p.Dir, "list"))
		require.Len(t, lines, c.want)
		for i, line := range lines {
			require.Equal(t, "at or after --until", line.Reason)
			require.Regexp(t, `^e(xport)?\.jsonl:\d+$`, line.Where, i)
		}
	}
}

// A list is whole or not there, and no other file is overwritten: a shell can make FILE an export.
func TestAListOverwritesNothingElse(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	nameless(t, p)
	a, b := "export/2023/a.json.gz", "export/b.json.gz"
	whole, err := os.ReadFile(filepath.Join(p.Dir, a))
	require.NoError(t, err)
	for want, args := range map[string][]string{
		a + " is there already, and it is no list of records that are left out": {"--left-out", a, b},
		a + " is one of the files that are read":                                {"--left-out", a, a},
	} {
		r := p.Run(t, append([]string{"check", "--format", "mixpanel"}, args...)...)
		assert.Equal(t, 2, r.Code, want)
		says(t, r.Stderr, want)
		kept, err := os.ReadFile(filepath.Join(p.Dir, a))
		require.NoError(t, err)
		require.Equal(t, whole, kept, want)
	}
	list := filepath.Join(p.Dir, "list")
	require.Equal(t, 0, p.Run(t, "check", b, "--format", "mixpanel", "--left-out", "list").Code)
	require.Equal(t, 0, p.Run(t, "check", a, b, "--format", "mixpanel", "--left-out", "list").Code, "an earlier list is replaced")
	before := listed(t, list)
	require.Len(t, before, 86)
	assert.NoFileExists(t, list+durable.TempEnding)

	require.NoError(t, os.Mkdir(list+durable.TempEnding, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(list+durable.TempEnding, "x"), nil, 0o600))
	r := p.Ends(t, 1, "check", b, "--format", "mixpanel", "--left-out", "list")
	says(t, r.Stderr, "list cannot be written")
	assert.Equal(t, before, listed(t, list), "the earlier one is as it was")
}
