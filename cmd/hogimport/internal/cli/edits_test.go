package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

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
			if format == "json" {
				p.Write(t, "map.txt", "# members of the lines\n\n*=properties\r\n person = x\n")
				p.Ends(t, 2, "check", file, "--format", "json", "--map-file", "map.txt").Err(t, "a target with blanks around it belongs in quotes")
				p.Write(t, "map.txt", "# members of the lines\n\n*=properties\r\n")
				flags := slices.Concat(flags, []string{"--format", "json", "--map-file", "map.txt"})
				checkEdits(t, server, p, file, flags)
				return
			}
			checkEdits(t, server, p, file, flags)
		})
	}
}

func checkEdits(t *testing.T, server *hogapitest.Server, p *clitest.Program, file string, flags []string) {
	t.Helper()
	checked := p.Ends(t, 0, append([]string{"check", file, "--max-rejects", "none"}, flags...)...)
	clitest.Says(t, checked.Stdout, "new_name", "--rename 'Old Name=new_name' --drop email --rename-property 'url=$current_url'")
	assert.NotContains(t, checked.Stdout, "secret")
	run := slices.Concat([]string{"run", file, "--yes", "--rate", "none"}, flags)
	r := p.Ends(t, 0, run...)
	clitest.Says(t, r.Stderr, "the properties $current_url and url would both be called $current_url, with different values")
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
	assert.Equal(t, 300, server.Ledger().Unique())
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
	checked := p.Ends(t, 0, append([]string{"check", "visits.csv", "--left-out", "out.txt"}, flags...)...)
	clitest.Says(t, checked.Stdout, "10 records are left out: skip=hits.type|is:noise", "1 record is left out: skip=site|is:test")
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
