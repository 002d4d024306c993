package generic_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// eventsOf are the events of a record, as texts.
func eventsOf(t *testing.T, record string, mappings ...string) (texts []string, ids []uuid.UUID, err error) {
	t.Helper()
	format, err := generic.Format(&generic.Options{Map: mappings})
	require.NoError(t, err)
	events, err := format.Convert([]byte(record))
	for _, ev := range events {
		texts = append(texts, fmt.Sprintf("%s %s %s %s", ev.Name, ev.DistinctID, ev.Timestamp.Format(time.TimeOnly), ev.RawProperties))
		ids = append(ids, ev.UUID)
	}
	if len(events) > 0 {
		assert.Equal(t, format.ID([]byte(record)), ids[0], "a record that is rejected has the uuid of its first event")
	}
	return texts, ids, err
}

func TestEachElementOfAListIsAnEvent(t *testing.T) {
	t.Parallel()
	const visit = `{"visit":7,"user":{"id":"ann","plan":"pro"},"country":"DE","hits":[` +
		`{"type":"page","at":"2024-05-01T12:00:00Z","url":"/a"},{"type":"buy","at":"2024-05-01T12:00:05Z","sum":"7,50","url":"/b"}]}`
	mappings := []string{"[]=hits", "event=hits.type|table:page=$pageview,*=*", "time=hits.at", "person=user.id", "sum=hits.sum|number:1234,5"}
	texts, ids, err := eventsOf(t, visit, append(mappings, "*=hits")...)
	require.NoError(t, err)
	assert.Equal(t, []string{
		`$pageview ann 12:00:00 {"visit":7,"user":{"plan":"pro"},"country":"DE","url":"/a"}`,
		`buy ann 12:00:05 {"visit":7,"user":{"plan":"pro"},"country":"DE","url":"/b","sum":7.50}`,
	}, texts)
	assert.Equal(t, []uuid.UUID{{}, {}}, ids, "which history.Files derives from the record and the number")

	texts, _, err = eventsOf(t, visit, mappings...)
	require.NoError(t, err)
	assert.Equal(t, `buy ann 12:00:05 {"visit":7,"user":{"plan":"pro"},"country":"DE","hits":{"url":"/b"},"sum":7.50}`, texts[1],
		"what nothing takes of an element stays under the name of the list")

	_, ids, err = eventsOf(t, visit, append(mappings, "uuid=visit")...)
	require.NoError(t, err)
	assert.NotEqual(t, ids[0], ids[1], "the id of a record is not that of several events")
	other, more, err := eventsOf(t, strings.Replace(visit, "DE", "FR", 1), append(mappings, "uuid=visit")...)
	require.NoError(t, err)
	assert.Equal(t, ids, more, "uuids of an id do not depend on the rest")
	assert.Contains(t, other[0], "FR")

	_, ids, err = eventsOf(t, visit, append(mappings, "uuid=hits.url")...)
	require.NoError(t, err)
	_, alone, err := eventsOf(t, `{"url":"/b"}`, "uuid=url")
	require.NoError(t, err)
	assert.Equal(t, alone[0], ids[1], "an element with an id of its own has the uuid of this id alone")
}

func TestListsOfOtherForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record   string
		mappings []string
		want     string // or the error
	}{
		"texts":                        {`{"distinct_id":"p","names":["a","b"]}`, []string{"[]=names", "event=names"}, `a p 00:00:00 {} b p 00:00:00 {}`},
		"values that nothing takes":    {`{"event":"e","list":[1,[2]]}`, []string{"[]=list"}, `e  00:00:00 {"list":1} e  00:00:00 {"list":[2]}`},
		"in a text":                    {`{"list":"[{\"n\":\"a\"},{\"n\":\"b\"}]"}`, []string{"[]=list|json", "event=list.n"}, `a  00:00:00 {} b  00:00:00 {}`},
		"within an object":             {`{"data":{"list":[{"n":"a","x":1}],"y":2}}`, []string{"[]=data.list", "event=data.list.n"}, `a  00:00:00 {"data":{"y":2},"list":{"x":1}}`},
		"within JSON in a text":        {`{"data":"{\"list\":[{\"n\":\"a\"}],\"y\":2}"}`, []string{"[]=data|json.list", "event=data.list.n"}, `a  00:00:00 {"data":{"y":2}}`},
		"no list":                      {`{"list":{"n":1}}`, []string{"[]=list"}, `list: want a list, not {"n":1}`},
		"a text that is no list":       {`{"list":"[1"}`, []string{"[]=list|json"}, `list: want JSON, not "[1"`},
		"an empty list":                {`{"list":[]}`, []string{"[]=list"}, "no element in the list list"},
		"a list that is absent":        {`{"a":1}`, []string{"[]=list"}, "no element in the list list"},
		"an empty column":              {`{"list":""}`, []string{"[]=list|json"}, "no element in the list list"},
		"a bad element":                {`{"list":[{"n":"1"},{"n":"x"}]}`, []string{"[]=list", "n=list.n|number"}, `element 2 of list: list.n: want a number, not "x"`},
		"an element that is no object": {`{"list":[{"n":"1"},2]}`, []string{"[]=list", "*=list"}, `element 2 of list: list: want an object, not 2`},
		"too many elements":            {`{"list":[` + strings.Repeat("1,", 50_000) + `1]}`, []string{"[]=list"}, "list: want at most 50000 elements: divide the record"},
		"too many bytes": {
			`{"more":"` + strings.Repeat("x", 1<<20) + `","list":[` + strings.Repeat("1,", 70) + `1]}`, []string{"[]=list"},
			"list: want at most 64 MiB of properties in the events of one record",
		},
	} {
		texts, _, err := eventsOf(t, c.record, c.mappings...)
		if err != nil {
			assert.ErrorContains(t, err, c.want, name)
			assert.Empty(t, texts, "all or none")
			continue
		}
		assert.Equal(t, c.want, strings.Join(texts, " "), name)
	}
}

// A file with lists is imported, with the left-out elements counted. A record with a bad element is rejected as a
// whole, and its events are the same ones once the map is corrected.
func TestAnImportOfLists(t *testing.T) {
	t.Parallel()
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	const content = `{"id":1,"user":"ann","hits":[{"e":"a","at":1714564800000001},{"e":"test","at":1714564800000002},{"e":"b","at":1714564800000003}]}
{"id":2,"user":"ben","hits":[{"e":"a","at":1714564800000004},{"e":"b","at":1714564800000005,"n":"1,5"}]}
{"id":3,"user":"ben","hits":[]}
`
	path := formattest.File(t, "visits.jsonl", content)
	formatWith := func(more ...string) history.Format {
		format, err := generic.Format(&generic.Options{Map: append([]string{
			"[]=hits", "event=hits.e", "person=user", "time=hits.at|unixus", "skip=hits.e|is:test", "*=hits",
		}, more...)})
		require.NoError(t, err)
		return format
	}
	server := hogapitest.New()
	client := server.Client(t)
	send := func(id string, source history.Source, handler hogapi.RejectHandler) hogapi.Receipt {
		receipt, err := history.Import(t.Context(), client, source, &history.Options{ID: id, Rejects: handler, MaxRejectShare: -1})
		require.NoError(t, err)
		return receipt
	}
	strict, lenient := formatWith("n=hits.n|number"), formatWith("n=hits.n|number:1234,5")
	receipt := send("visits", history.Files(strict, path), history.RejectFile(rejects))
	assert.EqualValues(t, 2, receipt.Acknowledged)
	assert.EqualValues(t, 2, receipt.Skipped, "an element and a record")
	assert.EqualValues(t, 1, receipt.Rejected)
	text, err := os.ReadFile(rejects)
	require.NoError(t, err)
	assert.Contains(t, string(text), "element 2 of hits: hits.n: want a number")

	send("visits", history.Rejected(rejects, lenient.Convert), nil)
	assert.Equal(t, 4, server.Ledger().Unique())
	send("visits", history.Files(lenient, path), nil)
	assert.Equal(t, 4, server.Ledger().Unique(), "the same events have the same uuids, wherever they are corrected")
}

// The tables without a header, of each layout, have all steps.
func TestStepsInTablesWithoutAHeader(t *testing.T) {
	t.Parallel()
	for layout, content := range map[history.Layout]string{
		history.LayoutCSV: "buy,ann,2024-05-01 14:00,Europe/Berlin,\"1.234,5\",\"{\"\"plan\"\":\"\"pro\"\",\"\"x\"\":1}\",\ntest,ann,2024-05-01 14:00,+02:00,2,,\n",
		history.LayoutTSV: "buy\tann\t2024-05-01 14:00\tEurope/Berlin\t1.234,5\t{\"plan\":\"pro\",\"x\":1}\t\ntest\tann\t2024-05-01 14:00\t+02:00\t2\t\t\n",
	} {
		for _, asLayout := range []history.Layout{layout, history.LayoutAny} {
			if asLayout == history.LayoutAny && layout == history.LayoutTSV {
				continue // tabs are said by the layout alone
			}
			path := formattest.File(t, "table", content)
			format, err := generic.Format(&generic.Options{Layout: asLayout, Header: []string{"event", "who", "when", "tz", "sum", "data", "note"}, Map: []string{
				"person=who", "time=when|zone:tz", "sum=sum|number:1.234,5", "plan=data|json.plan", "skip=event|is:test", "drop=*|empty", "drop=tz",
			}})
			require.NoError(t, err)
			server := hogapitest.New()
			receipt, err := history.Import(t.Context(), server.Client(t), history.Files(format, path), &history.Options{ID: "t"})
			require.NoError(t, err)
			assert.Equal(t, map[string]int64{"skip=event|is:test": 1}, receipt.Skips)
			for ev := range server.Ledger().Events() {
				assert.Equal(t, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC), ev.Time)
				assert.Contains(t, string(ev.Properties), `"data":{"x":1},"sum":1234.5,"plan":"pro"`)
				assert.NotContains(t, string(ev.Properties), `"note"`)
			}
			assert.Equal(t, 1, server.Ledger().Unique())
		}
	}
}
