package formats_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

// frozen is what a check said of some records before records were read in another way. A changed file is a changed import.
const frozen = "testdata/frozen.json"

// Every event, uuid and number of a check stays as it was, for the fixtures of all formats and for records that are damaged
// copies of them.
func TestCheckIsFrozen(t *testing.T) {
	t.Parallel()
	all := maps.Clone(vendorFormats)
	maps.Copy(all, rowFormats)
	all["mixpanel options"] = func() history.Format {
		zone, err := time.LoadLocation("America/New_York")
		require.NoError(t, err)
		return mixpanel.Format(&mixpanel.Options{
			Zone: zone, KeepAll: true, KeepDeleted: true, WholeKey: true, Groups: map[string]string{"company_id": "company"},
			NoID: "nobody", NoVisitorProfiles: true, LookUpIP: true, PersonProperties: formats.PersonSet,
		})
	}
	all["segment options"] = func() history.Format {
		return segment.Format(&segment.Options{NoGroups: true, NoVisitorProfiles: true, LookUpIP: true, PersonProperties: formats.PersonSet})
	}
	text, err := os.ReadFile(frozen)
	require.NoError(t, err)
	want := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(text, &want))
	if flag.Lookup("update").Value.String() == "true" {
		for name, format := range all {
			vendor, _, _ := strings.Cut(name, " ")
			want[name] = json.RawMessage(frozenReport(t, format(), vendor, damaged(fixtures(t, vendor))))
		}
		lines := []byte("{")
		for i, name := range slices.Sorted(maps.Keys(want)) {
			lines = fmt.Appendf(lines, "%.*s\n%q:%s", min(i, 1), ",", name, want[name])
		}
		require.NoError(t, os.WriteFile(frozen, append(lines, "\n}\n"...), 0o600))
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(all)))
	for name, format := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor, _, _ := strings.Cut(name, " ")
			records := damaged(fixtures(t, vendor))
			got := ""
			for range 3 { // the check compares events by short hashes, of which few are the same by chance
				if got = frozenReport(t, format(), vendor, records); got == string(want[name]) {
					return
				}
			}
			assert.JSONEq(t, string(want[name]), got)
		})
	}
}

func frozenReport(t *testing.T, format history.Format, vendor string, records [][]byte) string {
	t.Helper()
	sum := sha256.New()
	source := func(f history.Format) history.Source {
		return history.Records("frozen", f, func(_ context.Context, after hogapi.Position) iter.Seq2[history.Record, error] {
			return func(yield func(history.Record, error) bool) {
				for i := after.Offset; i < int64(len(records)); i++ {
					if !yield(history.Record{Raw: records[i], Position: hogapi.Position{Key: "frozen", Offset: i + 1}}, nil) {
						return
					}
				}
			}
		})
	}
	for ev, err := range source(format).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		reason, _ := ev.Skipped()
		fmt.Fprintln(sum, ev.Position, ev.Origin, ev.UUID, ev.Name, ev.DistinctID, ev.AnonymousID, ev.UserIDs, ev.Timestamp, reason, string(ev.RawProperties))
	}
	o := &formats.CheckOptions{
		Import: &history.Options{ID: "frozen", MaxRejectShare: -1}, Source: source, Links: &formats.LinksOptions{},
		Web: &formats.WebAnalyticsOptions{Now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	switch vendor {
	case "mixpanel":
		o.Test = new(mixpanel.ZoneTest)
	case "posthogexport":
		o.Test = new(posthogexport.RowTest)
	}
	report, err := formats.Check(t.Context(), format, o)
	require.NoError(t, err)
	report.Persons = 0 // an estimate by random hashes
	text, err := json.Marshal(map[string]any{"events": fmt.Sprintf("%x", sum.Sum(nil)), "report": report})
	require.NoError(t, err)
	return string(text)
}

// damaged are records and changed copies of them: other digits, blanks, escapes, missing bytes, and parts that are there twice.
// Digits only become smaller, so that no time gets into the future.
func damaged(records [][]byte) [][]byte {
	const copies = 600
	dice := rand.New(rand.NewPCG(5, 6))
	all := slices.Clone(records)
	for len(all) < copies {
		record := bytes.Clone(records[dice.IntN(len(records))])
		for range 6 {
			if i := dice.IntN(len(record)); record[i] > '0' && record[i] <= '9' {
				record[i] = byte('0' + dice.IntN(int(record[i]-'0')+1))
			}
		}
		for range dice.IntN(4) {
			at := dice.IntN(len(record))
			switch dice.IntN(6) {
			case 0:
				if i := bytes.IndexAny(record[at:], ":,{["); i >= 0 {
					record = slices.Insert(record, at+i+1, []byte(" \t")...)
				}
			case 1:
				if c := record[at]; c >= 'a' && c <= 'z' {
					record = slices.Replace(record, at, at+1, fmt.Appendf(nil, `\u%04x`, c)...)
				}
			case 2:
				if dice.IntN(4) == 0 {
					record = slices.Delete(record, at, at+1)
				}
			case 3: // a member again
				members := bytes.SplitAfter(record, []byte(","))
				i := dice.IntN(len(members))
				record = bytes.Join(slices.Insert(members, dice.IntN(len(members)), members[i]), nil)
			case 4: // another key
				if i := bytes.Index(record[at:], []byte(`,"`)); i >= 0 {
					record = slices.Insert(record, at+i+2, 'x')
				}
			case 5:
				if i := bytes.Index(record[at:], []byte(`:"`)); i >= 0 {
					record = slices.Insert(record, at+i+2, []byte("é\\n\\\"")...)
				}
			}
		}
		all = append(all, record)
	}
	return all
}
