package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// mixpanelExport is an export of a project in Pacific time, newest event first.
func mixpanelExport(t *testing.T, p *clitest.Program, n int) {
	t.Helper()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	p.Lines(t, "export/1.jsonl.gz", n, func(i int) string {
		return fmt.Sprintf(`{"event":"visit","properties":{"time":%d,"distinct_id":"u%d","$user_id":"u%[2]d","$device_id":"d%[2]d","$insert_id":"i%[3]d"}}`,
			at.Add(time.Duration(n-i)*time.Minute).Unix(), i%5, i)
	})
}

func TestVendorsFilesInOrderWithLinksInTheirZone(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	mixpanelExport(t, p, 3000)
	args := []string{"run", "--format", "mixpanel", "export/*.gz", "--yes", "--rate", "none", "--sort", "--links", "--zone", "US/Pacific", "--until", "2024-05-02"}
	r := p.Ends(t, 0, args...)
	assert.Regexp(t, `  [\d,]+ records are at or after --until\.\n`, r.Stdout)
	clitest.Says(t, r.Stderr, "5 pairs of ids joined first.")
	clitest.Says(t, r.Stdout, " events and 5 links of persons acknowledged; ")
	assert.Regexp(t, `complete +[\d,]+ +[\d,]+ +0 +0 +3,005\n`, p.Run(t, "status").Stdout, "an import sends more events than there are records")
	assert.NotContains(t, r.Stdout+r.Stderr, "than one sent before", "the links that come first are no disorder")
	again := p.Run(t, args...)
	assert.Equal(t, r.Stdout, again.Stdout)
	clitest.Says(t, r.Stdout, "Remove hogimport-state/1/sorted once it is verified",
		"Check that all of it is there, now, and again in a few hours if events are still arriving: hogimport verify")
	verified := p.Ends(t, 0, "verify", "--report", "verify.html").Narrow(t)
	assert.Regexp(t, `^Complete: all [\d,]+ events are in the project, [\d,]+ of the files and\s+5\s+links\s+of\s+persons\.`, verified.Stdout)
	clitest.Says(t, verified.Stdout, "Note: Links of persons are counted too. They are $identify events, and in the counts of their days.")
	removed := "Remove hogimport-state/1/sorted, which holds the sorted events: the import is verified. Another verify may make it again."
	clitest.Says(t, verified.Stdout, removed)
	html := p.Read(t, "verify.html")
	assert.Contains(t, html, removed)
	require.NoError(t, os.RemoveAll(filepath.Join(p.Dir, "hogimport-state/1/sorted")))
	assert.NotContains(t, p.Run(t, "verify").Stdout, "Remove ")
	links, last, oldest := 0, time.Time{}, time.Now()
	for e := range server.Ledger().Events() {
		assert.True(t, e.Time.Before(time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)))
		if e.Event == "$identify" {
			links++
			assert.True(t, last.IsZero(), "links come first")
			continue
		}
		if e.Time.Before(oldest) {
			oldest = e.Time
		}
		if e.DistinctID == "u0" {
			assert.False(t, e.Time.Before(last), "oldest first")
			last = e.Time
		}
	}
	assert.Equal(t, 5, links)
	assert.Equal(t, time.Date(2024, 5, 1, 7, 1, 0, 0, time.UTC), oldest, "midnight in Los Angeles is 07:00 in UTC")
}

func TestPersonPropertiesByPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"keep": `"$set":{"plan":"free"}`, "set-once": `"$set_once":{"plan":"free"}`, "strip": ""} {
		server, p := clitest.Serve(t)
		line := `{"event":"e","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z","properties":{"$set":{"plan":"free"}}}` + "\n"
		p.Write(t, "e.jsonl", line)
		p.Ends(t, 0, "run", "e.jsonl", "--yes", "--set-policy", policy)
		for e := range server.Ledger().Events() {
			assert.Contains(t, string(e.Properties), want)
			assert.Equal(t, policy == "keep", bytes.Contains(e.Properties, []byte(`"$set":`)))
		}
	}
}

// Events of a PostHog export stay as they are. check warns that persons change where the files are
// not in order, and where the project is in use.
func TestPostHogEventsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	row := func(plan, at string) string {
		return fmt.Sprintf(`{"uuid":"0188d3f2-1111-7aaa-8bbb-0000000000%s","event":"e","distinct_id":"p","timestamp":"2024-01-%sT00:00:00Z","created_at":"2024-01-09T00:00:00Z","properties":{"$set":{"plan":"%s"},"$set_once":{"first":"x"}}}`+"\n", at, at, plan)
	}
	server, p := clitest.Serve(t)
	p.Write(t, "export.jsonl", row("pro", "02")+row("free", "01"))
	check := func(flags ...string) clitest.Result {
		return p.Ends(t, 0, append([]string{"check", "export.jsonl", "--format", "posthog"}, flags...)...)
	}
	const live, unsorted = "Warning: The project has events of its own", "Warning: The files are not in order of time"
	const sorts = "$set stays $set: a person ends with what arrives last, so the import below sorts all events first (--sort)"
	check("--sort=false").Out(t, unsorted, sorts).Never(t, live)
	check("--set-policy", "set-once").Never(t, unsorted)
	check().Never(t, unsorted)

	p.Events(t, "live.jsonl", 3, nil)
	p.Ends(t, 0, "run", "live.jsonl", "--yes")
	check().Out(t, live, "--set-policy set-once")
	check("--set-policy", "set-once").Never(t, live)

	run := []string{"run", "export.jsonl", "--format", "posthog", "--yes"}
	p.Ends(t, 0, run...).Never(t, "without --sort")
	var sets []string
	for e := range server.Ledger().Events() {
		if e.DistinctID == "p" && e.Event == "e" {
			assert.Contains(t, string(e.Properties), `"$set_once":{"first":"x"}`)
			sets = append(sets, regexp.MustCompile(`"\$set":{[^}]*}`).FindString(string(e.Properties)))
		}
	}
	assert.Equal(t, []string{`"$set":{"plan":"free"}`, `"$set":{"plan":"pro"}`}, sets, "oldest first")

	p.Ends(t, 0, append(run, "--state", "unsorted", "--sort=false")...).Err(t, "without --sort persons can end with old values")
}

func TestResultNamesSharedUUIDs(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	const line = `{"uuid":"00000000-0000-4000-8000-000000000001","event":"e","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z","properties":{"n":%d}}` + "\n"
	p.Write(t, "e.jsonl", fmt.Sprintf(line+line, 1, 2))
	p.Run(t, "check", "e.jsonl").Out(t, "Warning: 1 event has the uuid of an event with another content Name, person and time are the same, so PostHog keeps one of the two")
	p.Ends(t, 0, "run", "e.jsonl", "--yes").Narrow(t).
		Out(t, "the uuid of two events: 00000000-0000-4000-8000-000000000001, the second at e.jsonl:2")
}

func TestTheProtocolIsChosen(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"v1", "batch"} {
		server, p := clitest.Serve(t)
		p.Events(t, "events.jsonl", 10, nil)
		p.Ends(t, 0, "run", "events.jsonl", "--yes", "--protocol", protocol)
		for _, request := range server.Ledger().Requests() {
			assert.Equal(t, protocol, request.Protocol)
		}
	}
}

func TestLinesForPrograms(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 3000, func(i int) bool { return i == 7 })
	server.Script(ops.Capture, hogapitest.Status(503))
	for _, args := range [][]string{{"--rate", "2000"}, {"--rate", "none"}, {"--rate", "0"}} {
		r := p.Run(t, append([]string{"run", "events.jsonl", "--yes", "--log", "json"}, args...)...)
		for line := range strings.Lines(r.Stderr) {
			var fields map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
			assert.NotEmpty(t, fields["msg"])
		}
		assert.NotEmpty(t, r.Stderr)
	}
}

func TestAFolderWithFilesOfOthersIsNotUsed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 10, nil)
	const isThere = " exists and was not created by a hogimport import"
	for name, want := range map[string]string{
		"rejects.jsonl": isThere, "receipt.json": isThere, "progress.json": isThere, "verified.json": isThere, "checkpoint.json": isThere,
		"import.json": "not written by hogimport",
	} {
		for _, command := range []string{"run", "trial"} {
			folder := t.TempDir()
			file := filepath.Join(folder, name)
			require.NoError(t, os.WriteFile(file, []byte(`{"mine":1}`), 0o600))
			r := p.Run(t, command, "e.jsonl", "--yes", "--state", folder, "--project-key", hogapitest.DefaultProjectKey)
			assert.NotZero(t, r.Code, "%s %s", command, name)
			if command == "run" {
				clitest.Says(t, r.Stderr, want)
			}
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, `{"mine":1}`, string(content), "%s %s", command, name) //nolint:testifylint // each byte
		}
	}
	p.Ends(t, 0, "run", "e.jsonl", "--yes", "--state", "s")
	before := p.Read(t, "s", "receipt.json")
	p.Ends(t, 2, "trial", "e.jsonl", "--yes", "--state", "s", "--project-key", hogapitest.DefaultProjectKey)
	assert.Equal(t, before, p.Read(t, "s", "receipt.json"))
}

func TestADamagedFile(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	mixpanelExport(t, p, 8000)
	const path = "export/1.jsonl.gz"
	whole := p.Read(t, path)
	p.Write(t, path, whole[:len(whole)-1000])
	args := []string{"run", "--format", "mixpanel", path, "--yes", "--rate", "none", "--state", "s"}
	p.Ends(t, 1, args...).Err(t, "the files cannot be read further", "1.jsonl.gz", "correct the files, and run the same command again")
	p.Write(t, path, whole)
	p.Ends(t, 0, args...)
	assert.Equal(t, 8000, server.Ledger().Unique())
}

func TestNoKeyIsKeptOrSaid(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 100, nil)
	var said strings.Builder
	for _, args := range [][]string{{"run", "events.jsonl", "--yes"}, {"status", "--json"}, {"run", "events.jsonl", "--log", "json"}} {
		r := p.Run(t, args...)
		said.WriteString(r.Stdout + r.Stderr)
	}
	require.NoError(t, filepath.WalkDir(p.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		said.WriteString(string(text))
		return err
	}))
	clitest.Result{Stdout: said.String()}.Never(t, hogapitest.DefaultProjectKey, hogapitest.DefaultPersonalKey)
}

func TestKeysInFiles(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--project-key-file", "key"}, {"--project-key", "@key"}} {
		server, p := clitest.Serve(t)
		ids := p.Events(t, "events.jsonl", 10, nil)
		p.Write(t, "key", hogapitest.DefaultProjectKey+"\n")
		p.Env = append(p.Env, "POSTHOG_PROJECT_API_KEY=")
		p.Ends(t, 0, append([]string{"run", "events.jsonl", "--yes", "--state", filepath.Join(t.TempDir(), "state")}, args...)...)
		clitest.RequireWhole(t, server, ids)
		left, err := os.ReadDir(p.Dir)
		require.NoError(t, err)
		assert.Len(t, left, 2, "nothing is written outside of the state folder")
	}
}

func TestATornCheckpointIsBegunAgainWithTheSameUUIDs(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 2000, func(int) bool { return false })
	p.Ends(t, 0, runActions()...)
	require.NoError(t, os.Truncate(filepath.Join(p.Dir, "hogimport-state/actions/checkpoint.json"), 100))
	said := clitest.Words(p.Ends(t, 1, runActions()...).Err(t, "checkpoint.json is torn, empty or changed").Stderr)
	found := regexp.MustCompile(`--state DIR, and --import-id (\S+), so`).FindStringSubmatch(said)
	require.NotNil(t, found, said)
	p.Ends(t, 0, runActions("--state", "again", "--import-id", found[1])...)
	assert.Equal(t, 2000, server.Ledger().Unique(), "the events are the same ones")
	assert.Equal(t, 2000, server.Ledger().Duplicates())
}

// A personal key among the arguments is refused, whichever flag has it, and a project key is taken with one warning.
func TestKeysAmongTheArguments(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 20, nil)
	p.Events(t, "phx_export.jsonl", 20, nil)
	const personal = "phx_secretsecretsecretsecretsecret"
	for _, args := range [][]string{{"verify", "--personal-key-file", personal}, {"run", "e.jsonl", "--project-key=" + personal}, {"check", personal}} {
		p.Ends(t, 2, args...).Never(t, "secret").
			Err(t, "a personal API key is among the arguments, where every user of this machine can see it put it into POSTHOG_PERSONAL_API_KEY, or into a file")
	}
	p.Ends(t, 0, "check", "phx_export.jsonl") // a file of such a name is no key
	r := p.Ends(t, 0, "run", "e.jsonl", "--yes", "--project-key", hogapitest.DefaultProjectKey).Never(t, hogapitest.DefaultProjectKey)
	assert.Equal(t, 1, strings.Count(r.Stderr, "warning: the project API key is among the arguments"))
}

func TestSuggestionsAndCompletion(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	for text, args := range map[string][]string{
		"unknown flag: --sort see hogimport fix --help":                                      {"fix", "--sort"},
		"unknown flag: --header see hogimport fix --help":                                    {"fix", "--header", "a,b"},
		"unknown flag: --zoen did you mean --zone? Or see hogimport run --help":              {"run", "--zoen", "x"},
		"unknown flag: --fromat did you mean --format? Or see hogimport run --help":          {"run", "--fromat", "x"},
		"unknown flag: --xyzxyzxyz see hogimport run --help":                                 {"run", "--xyzxyzxyz"},
		`unknown command "chek" for "hogimport" did you mean check? Or see hogimport --help`: {"chek"},
	} {
		p.Ends(t, 2, args...).Err(t, text)
	}
	for flag, want := range map[string]string{"--format": "mixpanel\n", "--set-policy": "set-once\n", "--protocol": "v1\n", "--log": "json\n"} {
		assert.Contains(t, p.Run(t, "__complete", "run", flag, "").Stdout, want)
	}
}

// A pattern in quotes is one argument. The names of its files say their format, as without quotes.
func TestTheFormatOfAPatternIsThatOfItsFiles(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "export/2024-01.jsonl", 5, nil)
	p.Events(t, "export/2024-02.jsonl", 7, nil)
	clitest.Says(t, p.Ends(t, 0, "check", "export/*").Stdout, "hogimport run export/* --format jsonl --yes")
	p.Write(t, "export/notes.txt", "x")
	clitest.Says(t, p.Ends(t, 2, "check", "export/*").Stderr, "the format of the files is not named")
}

// Times of a project in Pacific time look like UTC, and would be stored 8 hours wrong: run says so before it sends.
func TestLocalTimesAreNamedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p, "e.json", 300, 0, pacific(t))
	args := []string{"run", "e.json", "--format", "mixpanel", "--rate", "none", "--yes", "--state"}
	said := func(args ...string) string { return clitest.Words(p.Ends(t, 0, args...).Stderr) }
	p.Ends(t, 2, append(args, "none")...).Err(t, "hogimport: The times are local, not UTC. Nothing was sent", "and would be stored at the wrong hour.",
		"give --zone America/Los_Angeles, or another zone with these clocks. To send the times as they are, give --zone UTC.")
	assert.Empty(t, server.Calls(ops.Capture))
	assert.NoFileExists(t, filepath.Join(p.Dir, "none/import.json"))

	const local = "hogimport: warning: The times are local, not UTC"
	text := said(append(args, "utc", "--zone", "UTC")...)
	assert.Contains(t, text, local, "it is said all the same")
	assert.NotContains(t, said(append(args, "utc", "--zone", "UTC")...), local, "once it is sent it is too late")

	text = said(append(args, "right", "--zone", "US/Pacific")...)
	assert.NotContains(t, text, "warning: The times", "US/Pacific has the clocks of Los Angeles")
	assert.NotContains(t, text, "--zone")
	assert.Contains(t, said(append(args, "other", "--zone", "Asia/Tokyo")...), "warning: The times do not fit Asia/Tokyo")

	lines := said(append(args, "json", "--log", "json", "--zone", "UTC")...)
	var warned bool
	for line := range strings.SplitSeq(strings.ReplaceAll(lines, "} {", "}\n{"), "\n") {
		var fields struct{ Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		warned = warned || fields.Level == "WARN" && strings.Contains(fields.Msg, "are local")
	}
	assert.True(t, warned, lines)
}

func TestFilesWhoseZoneCannotBeTested(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	mixpanelExport(t, p, 30)
	run := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "none"}
	p.Run(t, append(run, "--state", "a")...).Err(t, "warning: The time zone could not be tested")
	p.Run(t, append(run, "--state", "b", "--zone", "US/Pacific")...).Never(t, "warning")
}

// export writes a Mixpanel export of n events, 7 hours apart, in the time of a zone as if it were
// UTC. Every bad-th record has no time; 0: every record has one.
func export(t *testing.T, p *clitest.Program, name string, n, bad int, zone *time.Location) {
	t.Helper()
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	p.Lines(t, name, n, func(i int) string {
		arrived := at.Add(time.Duration(i) * 7 * time.Hour)
		_, ahead := arrived.In(zone).Zone()
		stamp := fmt.Sprintf(`"time":%d,`, arrived.Unix()+int64(ahead))
		if bad > 0 && i%bad == 0 {
			stamp = ""
		}
		return fmt.Sprintf(`{"event":"%s","properties":{%s"distinct_id":"user-%d","$insert_id":"id%06d","plan":"pro <b>","mp_processing_time_ms":%d}}`,
			[]string{"Sign up", "Search", "<script>alert(1)</script>"}[i%3], stamp, i%19, i, arrived.UnixMilli()+700)
	})
}

func pacific(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	return zone
}

// private has events with addresses of people, one of which has two URLs.
func private(t *testing.T, p *clitest.Program, name string, n int) {
	t.Helper()
	p.Lines(t, name, n, func(i int) string {
		more := ""
		if i == 7 {
			more = `,"$current_url":"/other"`
		}
		return fmt.Sprintf(`{"event":"Old Name","distinct_id":"p%d","timestamp":"2024-01-01T00:00:%02dZ","properties":{"email":"ann@secret.example","url":"/a","n":%d%s,`+
			`"$set":{"email":"ann@secret.example","plan":"pro"}}}`, i, i%60, i, more)
	})
}

// requireEdited requires that the project has that many events, all of them as the flags say.
func requireEdited(t *testing.T, server *hogapitest.Server, n int) {
	t.Helper()
	names := map[string]int{}
	for e := range server.Ledger().Events() {
		names[e.Event]++
		assert.NotContains(t, string(e.Properties), "secret")
		assert.NotContains(t, string(e.Properties), `"url"`)
		assert.Contains(t, string(e.Properties), `"$current_url":"/a"`)
		assert.Contains(t, string(e.Properties), `"$set":{"plan":"pro"}`)
	}
	assert.Equal(t, map[string]int{"new_name": n}, names)
}

// Events of any format are renamed, and lose properties, by flags that the import keeps: verify, fix and undo use them,
// and no other run continues it.
func TestEditsOfEvents(t *testing.T) {
	t.Parallel()
	flags := []string{"--rename", "Old Name=new_name", "--drop", "email", "--rename-property", "url=$current_url"}
	for format, file := range map[string]string{"jsonl": "e.jsonl", "json": "e.json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			server, p := clitest.Serve(t)
			private(t, p, file, 300)
			flags := flags
			if format == "json" {
				p.Write(t, "map.txt", "# members of the lines\n\n*=properties\r\n person = x\n")
				p.Ends(t, 2, "check", file, "--format", "json", "--map-file", "map.txt").Err(t, "a target with blanks around it belongs in quotes")
				p.Write(t, "map.txt", "# members of the lines\n\n*=properties\r\n")
				flags = slices.Concat(flags, []string{"--format", "json", "--map-file", "map.txt"})
			}
			checkEdits(t, server, p, file, flags)
		})
	}
}

func checkEdits(t *testing.T, server *hogapitest.Server, p *clitest.Program, file string, flags []string) {
	t.Helper()
	p.Ends(t, 0, append([]string{"check", file, "--max-rejects", "none"}, flags...)...).Never(t, "secret").
		Out(t, "new_name", "--rename 'Old Name=new_name' --drop email --rename-property 'url=$current_url'")
	run := slices.Concat([]string{"run", file, "--yes", "--rate", "none"}, flags)
	p.Ends(t, 0, run...).Err(t, "the properties $current_url and url would both be called $current_url, with different values")
	requireEdited(t, server, 299)

	other := slices.DeleteFunc(slices.Clone(run), func(word string) bool {
		return strings.Contains(word, "=") && strings.HasPrefix(word, "Old") || word == "--rename"
	})
	p.Ends(t, 2, other...).Err(t, "began with another --rename", "hogimport undo removes the earlier ones")
	p.Ends(t, 0, "verify")
	p.Ends(t, 3, "fix", "--yes").Err(t, "too much would be rejected again")
	p.Write(t, "edits.txt", "# the other name\nrename Old Name=new_name\ndrop email\ndrop $current_url\nrename-property url=$current_url2\n")
	p.Ends(t, 0, "fix", "--yes", "--edit-file", "edits.txt")
	require.Equal(t, 300, server.Ledger().Unique())
	for e := range server.Ledger().Events() {
		assert.Equal(t, "new_name", e.Event)
		assert.NotContains(t, string(e.Properties), "secret")
	}
	p.Ends(t, 0, "verify")
}

func TestEditsFromTheEnvironmentAndFiles(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	private(t, p, "e.jsonl", 5)
	p.Write(t, "edits.txt", "\ufeffrename Old Name=new_name\n\n  drop email  \n")
	p.Env = append(p.Env, "HOGIMPORT_EDIT_FILE=edits.txt", "HOGIMPORT_RENAME_PROPERTY=url=$current_url\nn=\"m=\"")
	p.Ends(t, 0, "run", "e.jsonl", "--yes")
	requireEdited(t, server, 5)
	for e := range server.Ledger().Events() {
		assert.Contains(t, string(e.Properties), `"m="`)
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	private(t, p, "e.jsonl", 5)
	p.Write(t, "bad.txt", "drop email\nremove x\n")
	p.Write(t, "binary", "\xff\xfe")
	for _, c := range []struct {
		flags []string
		says  []string
	}{
		{[]string{"--drop", "$set"}, []string{`--drop cannot change "$set"`, "--set-policy strip"}},
		{[]string{"--drop", "distinct_id"}, []string{`--drop cannot change "distinct_id"`, "persons, groups or the import would change"}},
		{[]string{"--rename-property", "a=$set"}, []string{`--rename-property cannot change "$set"`}},
		{[]string{"--rename", "Signed in=$identify"}, []string{`--rename cannot change "$identify"`}},
		{[]string{"--rename", "a"}, []string{`--rename "a" is not OLD=NEW`}},
		{[]string{"--rename", "=a"}, []string{`--rename "=a" is not OLD=NEW`}},
		{[]string{"--rename", `"a=b`}, []string{"is not OLD=NEW"}},
		{[]string{"--rename", "a=b", "--rename", "a=c"}, []string{`--rename has two new names for "a"`}},
		{[]string{"--drop", "a", "--rename-property", "a=b"}, []string{`--rename-property cannot change "a"`, "not dropped too"}},
		{[]string{"--edit-file", "bad.txt"}, []string{"bad.txt:2: want rename OLD=NEW, drop NAME or rename-property OLD=NEW"}},
		{[]string{"--edit-file", "none.txt"}, []string{"none.txt: ", syscall.ENOENT.Error()}},
		{[]string{"--edit-file", "binary"}, []string{"binary: this is not a file of lines in UTF-8"}},
	} {
		p.Ends(t, 2, append([]string{"check", "e.jsonl"}, c.flags...)...).Err(t, c.says...)
	}
}

// The map's lists, conditions and tables work from the flags on. An element that is left out is counted and listed.
func TestListsFromTheFlags(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Lines(t, "visits.csv", 11, func(i int) string {
		if i == 10 {
			return `test,u,UTC,"[]"`
		}
		return fmt.Sprintf(`live,u%d,Europe/Berlin,"[{""type"":""page"",""at"":""2024-05-01 14:00:%02d"",""sum"":""1.250,%d0""},{""type"":""noise"",""at"":""x""},{""type"":""buy"",""at"":""2024-05-01 15:00:%02d""}]"`, i, i, i, i)
	})
	flags := []string{
		"--format", "csv", "--header", "site,user,tz,hits", "--map", "[]=hits|json", "--map", "*=hits", "--map", "event=hits.type|table:page=$pageview,*=*",
		"--map", "sum=hits.sum|number:1.234,5", "--map", "time=hits.at|zone:tz", "--map", "person=user", "--map", "skip=site|is:test", "--map", "skip=hits.type|is:noise",
	}
	p.Ends(t, 0, append([]string{"check", "visits.csv", "--left-out", "out.txt"}, flags...)...).
		Out(t, "10 records are left out: skip=hits.type|is:noise", "1 record is left out: skip=site|is:test")
	assert.Equal(t, 11, strings.Count(p.Read(t, "out.txt"), "\n"))
	p.Ends(t, 0, append([]string{"run", "visits.csv", "--yes"}, flags...)...)
	names := map[string]int{}
	for e := range server.Ledger().Events() {
		names[e.Event]++
		assert.Equal(t, 12+names["none"], e.Time.Hour()-map[string]int{"buy": 1}[e.Event])
	}
	assert.Equal(t, map[string]int{"$pageview": 10, "buy": 10}, names)
	p.Ends(t, 0, "verify")
}
