package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// An export is named by its name, its id, or the beginning of its id. A name that two exports have names both, so that one can be taken.
func TestWhichExport(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	first, whole := p.addExport("lake", good), p.addExport("whole", good)
	project := p.server.Project(hogapitest.DefaultProject)
	second := project.AddExport(hogapitest.Export{
		Name: "lake", Created: time.Now().Add(-48 * time.Hour), Interval: hogapi.IntervalDay, DestinationType: "AwsS3", Integration: 1, Paused: true,
		Config: map[string]any{"bucket_name": "acme-lake", "region": "us-east-1", "prefix": "events/"},
	})
	r := p.ends(t, 2, "gaps", "lake").err(t, `2 exports have the name "lake"`, "take one by its id:")
	says(t, r.stderr, "(hour, BigQuery posthog.events, active)")
	says(t, r.stderr, "(day, AwsS3 acme-lake/events/, paused)")
	for _, id := range []string{first.String(), second.String()} {
		short := ""
		for word := range strings.FieldsSeq(r.stderr) {
			if strings.HasPrefix(id, word) {
				short = word
			}
		}
		assert.NotEmpty(t, short, "%s", r.stderr)
		p.run(t, "gaps", short).out(t, "lake: events to ")
	}
	id := whole.String()
	p.ends(t, 0, "gaps", id).out(t, "whole: ")
	p.ends(t, 0, "gaps", id[:len(id)-1]).out(t, "whole: ")
	p.ends(t, 2, "gaps", "whol").err(t, `the project has no batch export "whol"`)
}

// A verdict names the time that it is about: older gaps show with an earlier --since only.
func TestAVerdictNamesItsTime(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	project := p.server.Project(hogapitest.DefaultProject)
	began := now.AddDate(0, 0, -70)
	id := project.AddExport(hogapitest.Export{Name: "daily", Created: began, Interval: hogapi.IntervalDay, Timezone: "UTC", DestinationType: "BigQuery", Integration: 2})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) {
		days := int(now.Sub(end).Hours() / 24)
		return hogapitest.Outcome{}, days != 40 && days != 41
	})
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) + " 00:00" }
	p.ends(t, 0, "gaps", "daily").out(t, "every interval from "+day(30)+" to "+day(0)+" UTC is exported (30 days; the export began "+began.Format(time.DateOnly)+")")
	p.ends(t, 6, "gaps", "daily", "--since", "60d").out(t, "NOT EXPORTED: 2 intervals in 1 gap, since", "checked from "+day(60)+" to "+day(0)+" UTC (60 days")
	p.ends(t, 0, "list", "--gaps").out(t, "NOT EXPORTED IN 30 DAYS")
	p.ends(t, 6, "list", "--gaps", "--since", "60d").out(t, "NOT EXPORTED IN 60 DAYS", "2 in 1 gap")
}

// An acceptance covers each interval within it, for gaps and repair alike; it may be open-ended, or cover a whole
// export.
func TestAcceptHasOneMeaning(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	id := p.addExport("lake", outage) // hours 10 to 12 before now
	p.addExport("paused", func(hoursAgo int) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, hoursAgo > 3 })
	path := filepath.Join(t.TempDir(), "known")
	at := func(hoursAgo int) string {
		return now.Truncate(time.Hour).Add(time.Duration(-hoursAgo) * time.Hour).Format(time.RFC3339)
	}
	accept := func(lines ...string) []string {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		return []string{"--accept", path}
	}
	part := accept("lake\t" + at(13) + "\t" + at(11) + "\tknown in part")
	p.ends(t, 6, append([]string{"gaps", "lake"}, part...)...).out(t, "2 known: known in part", "1 never scheduled", "NOT EXPORTED: 1 interval in 1 gap")
	p.run(t, append([]string{"repair", "lake"}, part...)...).out(t, "1 backfill", "1 step: 1 planned")
	two := accept(id.String()[:13]+"\t"+at(13)+"\t"+at(11)+"\tone", "lake\t"+at(11)+"\t"+at(9)+"\tanother")
	p.ends(t, 0, append([]string{"gaps", "lake"}, two...)...).out(t, "2 known: one", "1 known: another")
	p.ends(t, 0, append([]string{"repair", "lake"}, two...)...).out(t, "nothing to repair")
	for _, line := range []string{"paused\tfrom " + at(5) + "\tuntil the audit is over", "paused\tnot in use"} {
		p.ends(t, 0, append([]string{"gaps", "paused"}, accept(line)...)...).out(t, "known: ")
		p.ends(t, 0, append([]string{"repair", "paused"}, accept(line)...)...).out(t, "nothing to repair")
	}
	p.ends(t, 6, append([]string{"gaps", "paused"}, accept("paused\tfrom "+at(2)+"\tlater")...)...)
	for _, line := range []string{"paused", "paused\tsince 2026-10-18\tx", "paused\tfrom soon\tx", "\tx"} {
		p.ends(t, 2, append([]string{"gaps", "paused"}, accept(line)...)...).err(t, "line 1: expected the export")
	}
}
