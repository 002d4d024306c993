package cli

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
)

const storedPlan = "testdata/plan/version1.yaml"

// fullPlan is a plan in which each field says something.
func fullPlan(dir string) history.Plan {
	plan := history.Plan{
		Version: 1, ID: "mixpanel-2024", State: filepath.Join(dir, "hogimport-state/export"), Mapping: 4,
		Project: history.PlanProject{Host: "eu.i.posthog.com", ID: "12345", Key: "0123abcd"},
		Files: []history.PlanFile{
			{Path: filepath.Join(dir, "export/2024-01.jsonl"), Bytes: 1564, SHA256: strings.Repeat("0f", 32), Records: 5},
			{Path: filepath.Join(dir, "export/a, b: {c} #d.jsonl"), Bytes: 0, SHA256: strings.Repeat("e3", 32)},
		},
		Decide: []history.PlanDecision{
			{Key: "zone", Problem: "The times are local: not UTC", Answers: []history.PlanAnswer{{Answer: "America/Denver", Effect: "these clocks"}, {Answer: "UTC", Effect: "as they are"}}, Other: "a zone", Answer: "UTC"},
			{Key: "accept-duplicates", Problem: "2 files have the same events", Answers: []history.PlanAnswer{{Answer: "yes", Effect: "both are imported"}}},
		},
		Expected: history.PlanOutcome{Events: 1, Rejected: 2, LeftOut: 3, Persons: 4, Billed: 5, Months: []history.PlanMonth{{Month: "2024-01", Events: 6, Visitors: 7, Views: 8, Sessions: 9}}},
	}
	texts := map[string]string{
		"format": "mixpanel", "zone": "US/Pacific", "until": "2024-05-01", "max-ids": "none", "sessions": "30m", "sessions-after": filepath.Join(dir, "hogimport-state/before/sessions.json"),
		"max-rejects": "5%", "rate": "1000", "protocol": "v1", "max-outage": "15m", "memory": "512MiB", "no-id": "no", "table": "# x", "group-type": "~",
	}
	for _, key := range append(plan.Choices.Keys(), plan.Limits.Keys()...) {
		switch to := key.To.(type) {
		case *bool:
			*to = true
		case *string:
			if *to = texts[key.Name]; *to == "" {
				*to = "a " + key.Name
			}
		case *[]string:
			*to = []string{key.Name + "=a|unix", "- 'b': \"c\" #d", "yes", "12", "null"}
		}
	}
	return plan
}

// A plan that this version has written is read by every later one. Add a file for a new version; change none.
func TestAStoredPlanIsRead(t *testing.T) {
	t.Parallel()
	stored, err := readPlan(storedPlan)
	require.NoError(t, err)
	assert.Equal(t, fullPlan("testdata/plan"), stored.Plan)
	assert.Equal(t, 11, stored.lines["project.id"])
	assert.Equal(t, map[string][]string{"format": {"# Anna: we agreed on this"}, "files.export/2024-01.jsonl": {"# Bert: the 3rd is missing"}, "expected": {"# in all"}}, stored.notes)
}

// A written plan reads back as the same plan, with a person's comments in their places.
func TestAPlanIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "migration.yaml")
	notes := map[string][]string{
		"": {"# first"}, "plan": {"# at plan"}, "project": {"# at project"}, "files": {"# at files"}, "files.export/2024-01.jsonl": {"# at a file", "# and more"}, "map": {"# at map"},
		"zone": {"# at zone"}, "decide.zone": {"# at a decision"}, "expected": {"# at expected"}, endOfPlan: {"# last"},
	}
	kept := maps.Clone(notes)
	w := &planText{to: &planFile{path: path, Plan: fullPlan(dir), notes: kept}, head: []string{"A plan"}, reasons: map[string]string{
		"zone": "a reason", "map": strings.Repeat("a long reason with\nlines ", 20), "files": "2 files", "expected.months": "in UTC", "files.export/2024-01.jsonl": "new",
	}}
	require.NoError(t, w.save(nil, nil))
	read, err := readPlan(path)
	require.NoError(t, err)
	assert.Equal(t, fullPlan(dir), read.Plan)
	assert.Equal(t, notes, read.notes)
	assert.Equal(t, "a reason", read.reasons["zone"])
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		assert.True(t, len(line) < 125 || strings.Contains(line, "sha256"), line)
	}
	require.NoError(t, w.save(text, nil))
	require.ErrorContains(t, w.save([]byte("other"), nil), "has changed while the files were read")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.yaml"), []byte("plan: gold\n"), 0o600))
	w.to.path = filepath.Join(dir, "other.yaml")
	require.ErrorContains(t, w.save(nil, nil), "is not a plan of hogimport")
}

// A name with brackets is that file, and no pattern for another one.
func TestANameWithBracketsIsNoPattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"x[1].jsonl", "x1.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	in := input{Files: []string{filepath.Join(dir, "x[1].jsonl")}}
	assert.Equal(t, in.Files, in.paths())
}

// Any file is either refused, or is a plan that is written as it was read.
func FuzzPlan(f *testing.F) {
	text, err := os.ReadFile(storedPlan)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte("plan: 1\nimport-id: x\nfiles: [{path: a}]\nformat: !!binary aGk=\nmap: &a [*a]\n"))
	f.Add([]byte("plan: 1\ndecide:\n  - {key: zone, answers: {x: y}, answer: ~}\n# end\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parsePlan("migration.yaml", text)
		if err != nil {
			return
		}
		was := p.absolutes()
		written := (&planText{to: p, reasons: map[string]string{"zone": "why"}}).String()
		again, err := parsePlan("migration.yaml", []byte(written))
		if err != nil {
			t.Fatalf("%v in\n%s\nof\n%s", err, written, text)
		}
		if now := again.absolutes(); !reflect.DeepEqual(was, now) {
			t.Fatalf("%+v\nis not\n%+v\nin\n%s", now, was, written)
		}
	})
}

// The table of the README says for each flag of run if it is a key of a plan.
func TestTheReadmeNamesEachKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| Flag of `run` | Key of the plan |")
	table, stay, _ := strings.Cut(table, "| `--yes`")
	stay, _, _ = strings.Cut(stay, "\n")
	run := newRunCommand(&app{})
	p := &planFile{path: "p.yaml"}
	run.Flags().VisitAll(func(f *pflag.Flag) {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.AddFlag(f)
		f.Changed = true
		if err := p.refuseFlags(flags); err != nil {
			assert.Contains(t, table, "`--"+f.Name+"`")
		} else {
			assert.Contains(t, "`--yes`"+stay, "`--"+f.Name+"`")
		}
	})
}

// Decisions that only a person can make are asked once: an answer stays, and a solved problem is not asked again.
func TestWhatAPlanAsks(t *testing.T) {
	t.Parallel()
	warned := func(name hogapi.Warning, n int64) formats.CheckReport {
		r := formats.CheckReport{}
		r.Good, r.Read, r.Warnings = 10, 10, map[hogapi.Warning]history.CheckFinding{name: {Count: n}}
		return r
	}
	good := formats.CheckReport{CheckReport: history.CheckReport{Good: 10, Read: 10}}
	held, joined := good, good
	held.Days = []history.CheckCount{{Day: "2024-01-01", Event: "a", Events: 10}}
	held.Held, held.CutFrom = []formats.HeldDay{{Day: "2024-01-01", Project: 7, Files: 10}}, "2024-01-01"
	joined.Links = &formats.LinksReport{Persons: 1, IDs: 2000, Largest: []formats.LinkedPerson{{ID: "null", IDs: 2000}}}
	for name, tt := range map[string]struct {
		format  string
		look    page.Check
		key     string
		answers []string
	}{
		"nothing":            {"mixpanel", page.Check{Report: good}, "", nil},
		"too many rejects":   {"jsonl", page.Check{Report: formats.CheckReport{CheckReport: history.CheckReport{Good: 90, Rejected: 10}}, Problem: "too much"}, "max-rejects", []string{"11%"}},
		"lost events":        {"mixpanel", page.Check{Report: warned(event.WarningUUIDReuse, 2)}, "whole-key", []string{"true", "false"}},
		"lost events, robot": {"snowplow", page.Check{Report: warned(event.WarningUUIDReuse, 2)}, "fingerprints", []string{"true", "false"}},
		"lost events, other": {"jsonl", page.Check{Report: warned(event.WarningUUIDReuse, 2)}, "accept-loss", []string{"yes"}},
		"the project's own":  {"jsonl", page.Check{Report: held, Project: "1"}, "until", []string{"2024-01-01", "none"}},
		"one large person":   {"segment", page.Check{Report: joined, MaxIDs: 1000}, "max-ids", []string{"none"}},
		"no zone":            {"mixpanel", page.Check{Report: good, Zone: new(mixpanel.ZoneTest)}, "zone", []string{"UTC"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &planner{check: check{app: &app{}, flags: pflag.NewFlagSet("", pflag.ContinueOnError)}}
			p.in.Format = tt.format
			asked := p.decisions(&tt.look)
			if tt.key == "" {
				assert.Empty(t, asked)
				return
			}
			require.Len(t, asked, 1, "%+v", asked)
			assert.Equal(t, tt.key, asked[0].Key)
			assert.NotContains(t, asked[0].Problem, "--")
			var answers []string
			for _, a := range asked[0].Answers {
				answers = append(answers, a.Answer)
			}
			assert.Equal(t, tt.answers, answers)
			require.True(t, asked[0].IsOpen())

			asked[0].Answer = answers[0]
			p.old = &planFile{Plan: history.Plan{Decide: asked}}
			again := p.decisions(&tt.look)
			require.Len(t, again, 1)
			assert.False(t, again[0].IsOpen(), "the answer stays")
		})
	}
}
