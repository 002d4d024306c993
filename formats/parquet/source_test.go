package parquet_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// exported is a row of a batch export's events model.
type exported struct {
	UUID             string    `parquet:"uuid" json:"uuid"`
	Event            string    `parquet:"event,dict" json:"event"`
	DistinctID       string    `parquet:"distinct_id" json:"distinct_id"`
	PersonID         string    `parquet:"person_id" json:"person_id"`
	Properties       string    `parquet:"properties" json:"properties"`
	PersonProperties string    `parquet:"person_properties" json:"person_properties"`
	ElementsChain    *string   `parquet:"elements_chain,optional" json:"elements_chain"`
	Timestamp        time.Time `parquet:"timestamp,timestamp(microsecond)" json:"timestamp"`
	CreatedAt        time.Time `parquet:"created_at,timestamp(microsecond)" json:"created_at"`
	InsertedAt       time.Time `parquet:"_inserted_at,timestamp(microsecond)" json:"_inserted_at"`
}

var begin = time.Date(2024, 2, 29, 23, 50, 0, 123456000, time.UTC)

// exportOf is a row. Every eleventh has no uuid, and some of these are equal.
func exportOf(i int) exported {
	at := begin.Add(time.Duration(i/10) * time.Second)
	r := exported{
		UUID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String(), Event: "$pageview", DistinctID: fmt.Sprintf("u-%d", i%97),
		PersonID: "0190a1b2-0000-7000-8000-000000000007", Properties: fmt.Sprintf(`{"n":%d,"text":"%064d"}`, i, i),
		PersonProperties: `{"email":"ann@example.com"}`, Timestamp: at, CreatedAt: at.Add(time.Hour), InsertedAt: at.Add(2 * time.Hour),
	}
	if i%5 == 0 {
		chain := `button:text="Buy"`
		r.Event, r.ElementsChain = "$autocapture", &chain
	}
	if i%11 == 0 {
		r.UUID, r.Properties, r.DistinctID = "", fmt.Sprintf(`{"n":%d}`, i/44), "u-equal"
	}
	return r
}

// writeParquet writes rows with a row group for so many.
func writeParquet[T any](t testing.TB, name string, rows []T, perGroup int) (path string) {
	t.Helper()
	var b bytes.Buffer
	w := parquetgo.NewGenericWriter[T](&b, parquetgo.Compression(&parquetgo.Zstd), parquetgo.PageBufferSize(4<<10))
	for len(rows) > 0 {
		n := min(perGroup, len(rows))
		_, err := w.Write(rows[:n])
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		rows = rows[n:]
	}
	require.NoError(t, w.Close())
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func exports(from, to int) (rows []exported) {
	for i := from; i < to; i++ {
		rows = append(rows, exportOf(i))
	}
	return rows
}

// echo makes an event of every record, which is its properties.
var echo = history.Format{Name: "echo", Convert: func(record []byte) ([]hogapi.Event, error) {
	return []hogapi.Event{{Name: "row", DistinctID: "ann", Timestamp: begin, RawProperties: record}}, nil
}}

// eventsOf are the events of a source after a position.
func eventsOf(t testing.TB, source history.Source, after hogapi.Position) []hogapi.Event {
	t.Helper()
	all := []hogapi.Event{}
	for ev, err := range source.Events(t.Context(), after) {
		require.NoError(t, err)
		all = append(all, hogapi.Event{
			Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, RawProperties: bytes.Clone(ev.RawProperties),
			UUID: ev.UUID, Position: ev.Position, Origin: ev.Origin,
		})
	}
	return all
}

// storedOf are the events of a server, by uuid.
func storedOf(server *hogapitest.Server) map[uuid.UUID]string {
	all := map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		all[ev.UUID] = string(ev.Raw)
	}
	return all
}

func TestValues(t *testing.T) {
	t.Parallel()
	type item struct {
		Name  string   `parquet:"name"`
		Price *float64 `parquet:"price,optional"`
		Tags  []string `parquet:"tags,list"`
	}
	type row struct {
		Text     string            `parquet:"text"`
		Bytes    []byte            `parquet:"bytes"`
		Big      int64             `parquet:"big"`
		Small    int32             `parquet:"small"`
		Unsigned uint64            `parquet:"unsigned"`
		Float    float32           `parquet:"float"`
		Double   float64           `parquet:"double"`
		Truth    bool              `parquet:"truth"`
		ID       uuid.UUID         `parquet:"id,uuid"`
		Millis   time.Time         `parquet:"millis,timestamp(millisecond)"`
		Nanos    time.Time         `parquet:"nanos,timestamp(nanosecond)"`
		Date     int32             `parquet:"date,date"`
		Decimal  int64             `parquet:"decimal,decimal(2:12)"`
		Maybe    *string           `parquet:"maybe,optional"`
		Item     *item             `parquet:"item,optional"`
		Items    []item            `parquet:"items,list"`
		Repeated []item            `parquet:"repeated"`
		Lists    []int64           `parquet:"lists,list"`
		Map      map[string]string `parquet:"map"`
	}
	price, maybe := 1.5, "there"
	rows := []row{
		{
			Text: "a \"text\"\n", Bytes: []byte{0xff, 0}, Big: math.MaxInt64, Small: -7, Unsigned: math.MaxUint64, Float: 0.1, Double: math.NaN(),
			Truth: true, ID: uuid.MustParse("018df7a0-3b1c-7c52-9d1e-0a1b2c3d4e60"), Millis: begin, Nanos: begin.Add(7), Date: 19782,
			Decimal: -1205, Maybe: &maybe, Item: &item{Name: "n", Tags: []string{}},
			Items:    []item{{Name: "a", Price: &price, Tags: []string{"x", "y"}}, {Name: "b"}, {Name: "c", Tags: []string{"z"}}},
			Repeated: []item{{Name: "d", Tags: []string{"1"}}, {Name: "e"}}, Lists: []int64{1, 2, 3}, Map: map[string]string{"k": "v"},
		},
		{Bytes: []byte("text"), Double: 1e21, Millis: begin, Nanos: begin},
	}
	path := writeParquet(t, "values.parquet", rows, 1)
	got := eventsOf(t, parquet.Files(echo, nil, path), hogapi.Position{})
	require.Len(t, got, 2)
	assert.JSONEq(t, `{"text":"a \"text\"\n","bytes":"/wA=","big":9223372036854775807,"small":-7,"unsigned":18446744073709551615,"float":0.1,
		"double":"NaN","truth":true,"id":"018df7a0-3b1c-7c52-9d1e-0a1b2c3d4e60","millis":"2024-02-29T23:50:00.123Z","nanos":"2024-02-29T23:50:00.123456007Z",
		"date":"2024-02-29","decimal":"-12.05","maybe":"there","item":{"name":"n","price":null,"tags":[]},
		"items":[{"name":"a","price":1.5,"tags":["x","y"]},{"name":"b","price":null,"tags":[]},{"name":"c","price":null,"tags":["z"]}],
		"repeated":[{"name":"d","price":null,"tags":["1"]},{"name":"e","price":null,"tags":[]}],"lists":[1,2,3],
		"map":{"key_value":[{"key":"k","value":"v"}]}}`, string(got[0].RawProperties))
	assert.Contains(t, string(got[0].RawProperties), `"big":9223372036854775807`)
	assert.JSONEq(t, `{"text":"","bytes":"text","big":0,"small":0,"unsigned":0,"float":0,"double":1e21,"truth":false,
		"id":"00000000-0000-0000-0000-000000000000","millis":"2024-02-29T23:50:00.123Z","nanos":"2024-02-29T23:50:00.123456Z","date":"1970-01-01",
		"decimal":"0.00","maybe":null,"item":null,"items":[],"repeated":[],"lists":[],"map":{"key_value":[]}}`, string(got[1].RawProperties))
}

// Rows of Parquet become the events that the same rows become as JSON lines.
func TestExport(t *testing.T) {
	t.Parallel()
	rows := exports(0, 3000)
	var text bytes.Buffer
	for _, r := range rows {
		// The column that PostHog writes as null here, and as an empty text there, is in neither
		// record.
		line, err := json.Marshal(map[string]any{
			"uuid": r.UUID, "event": r.Event, "distinct_id": r.DistinctID, "properties": r.Properties, "elements_chain": r.ElementsChain, "timestamp": r.Timestamp,
		})
		require.NoError(t, err)
		text.Write(append(line, '\n'))
	}
	lines := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(lines, text.Bytes(), 0o600))
	options := &parquet.Options{Columns: posthogexport.Columns()}
	source := parquet.Files(posthogexport.Format(nil), options, writeParquet(t, "rows.parquet", rows, 700))
	assert.Equal(t, "posthogexport (person=set): rows.parquet [uuid,event,distinct_id,properties,elements_chain,timestamp,ip,"+
		"elements,set,set_once,unset,group_set,people_set,people_set_once]", source.Name())

	want, got := hogapitest.New(), hogapitest.New()
	_, err := history.Import(t.Context(), want.Client(t), history.Files(posthogexport.Format(nil), lines), &history.Options{ID: "export", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)
	receipt, err := history.Import(t.Context(), got.Client(t), source, &history.Options{ID: "export", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)
	assert.EqualValues(t, 3000, receipt.Acknowledged)
	assert.Equal(t, 3000, want.Ledger().Unique())
	assert.Equal(t, storedOf(want), storedOf(got))
}

// Resumed at any row, a source gives the rest, with the same origins of uuids.
func TestResume(t *testing.T) {
	t.Parallel()
	paths := []string{writeParquet(t, "a#1.parquet", exports(0, 250), 60), writeParquet(t, "b.parquet", exports(250, 300), 60)}
	format := posthogexport.Format(nil)
	source := parquet.Files(format, nil, paths...)
	all := eventsOf(t, source, hogapi.Position{})
	require.Len(t, all, 300)
	for i := range all {
		require.Equal(t, all[i+1:], eventsOf(t, source, all[i].Position), "after %d", i)
	}
}

// A row is no other one when other columns are not read.
func TestColumns(t *testing.T) {
	t.Parallel()
	path := writeParquet(t, "rows.parquet", exports(0, 300), 70)
	got := eventsOf(t, parquet.Files(echo, &parquet.Options{Columns: []string{"event", "nothing", "elements_chain"}}, path), hogapi.Position{})
	require.Len(t, got, 300)
	assert.JSONEq(t, `{"event":"$autocapture","elements_chain":"button:text=\"Buy\""}`, string(got[5].RawProperties))
	assert.JSONEq(t, `{"event":"$pageview","elements_chain":null}`, string(got[299].RawProperties))
	without := parquet.Files(echo, &parquet.Options{Columns: []string{"event", "uuid", "elements_chain"}, Without: []string{"uuid", "nothing"}}, path)
	assert.Equal(t, "echo: rows.parquet [event,uuid,elements_chain] without [uuid,nothing]", without.Name())
	for i, ev := range eventsOf(t, without, hogapi.Position{}) {
		require.Equal(t, got[i].RawProperties, ev.RawProperties)
	}
}

// Texts of JSON become values where the options say so, and the events are the same.
func TestJSONColumns(t *testing.T) {
	t.Parallel()
	type row struct {
		Event      string  `parquet:"event"`
		Properties *string `parquet:"properties,optional"`
		N          int64   `parquet:"n"`
	}
	object, broken, empty := "{\"a\": [1,\n2]}", `{"a":`, ""
	path := writeParquet(t, "rows.parquet", []row{{"a", &object, 1}, {"b", &broken, 2}, {"c", nil, 3}, {"d", &empty, 4}}, 10)
	got := eventsOf(t, parquet.Files(echo, &parquet.Options{JSON: []string{"properties", "n", "nothing"}}, path), hogapi.Position{})
	for i, want := range []string{
		"{\"event\":\"a\",\"properties\":{\"a\": [1,\n2]},\"n\":1}", `{"event":"b","properties":"{\"a\":","n":2}`, `{"event":"c","properties":null,"n":3}`, `{"event":"d","properties":"","n":4}`,
	} {
		assert.Equal(t, want, string(got[i].RawProperties))
	}
	export := writeParquet(t, "export.parquet", exports(0, 300), 70)
	texts := eventsOf(t, parquet.Files(posthogexport.Format(nil), nil, export), hogapi.Position{})
	for i, ev := range eventsOf(t, parquet.Files(posthogexport.Format(nil), &parquet.Options{JSON: []string{"properties"}}, export), hogapi.Position{}) {
		assert.Equal(t, [2]string{texts[i].UUID.String(), string(texts[i].RawProperties)}, [2]string{ev.UUID.String(), string(ev.RawProperties)})
	}
}

// Lists in lists, groups of one member, times of older programs and long decimals keep their values.
func TestRareValues(t *testing.T) {
	t.Parallel()
	type inner struct {
		A string `parquet:"a"`
		B string `parquet:"b"`
	}
	type item struct {
		Name  string  `parquet:"name"`
		Inner []inner `parquet:"inner,list"`
	}
	type single struct {
		X string `parquet:"x"`
	}
	type row struct {
		Items   []item           `parquet:"items,list"`
		Singles []single         `parquet:"singles"`
		Old     deprecated.Int96 `parquet:"old"`
		Long    [9]byte          `parquet:"long,decimal(3:20)"`
	}
	rows := []row{
		{
			Items:   []item{{"a", []inner{{"1", "2"}, {"3", "4"}}}, {"b", nil}, {"c", []inner{{"5", "6"}}}},
			Singles: []single{{"7"}, {"8"}}, Old: deprecated.Int96{5, 0, 2_440_589}, Long: [9]byte{0: 1, 8: 7},
		},
		{Old: deprecated.Int96{0, 1, 2_440_587}, Long: [9]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}},
	}
	got := eventsOf(t, parquet.Files(echo, nil, writeParquet(t, "rare.parquet", rows, 9)), hogapi.Position{})
	require.Len(t, got, 2)
	assert.JSONEq(t, `{"items":[{"name":"a","inner":[{"a":"1","b":"2"},{"a":"3","b":"4"}]},{"name":"b","inner":[]},{"name":"c","inner":[{"a":"5","b":"6"}]}],
		"singles":[{"x":"7"},{"x":"8"}],"old":"1970-01-02T00:00:00.000000005Z","long":"18446744073709551.623"}`, string(got[0].RawProperties))
	assert.JSONEq(t, `{"items":[],"singles":[],"old":"1969-12-31T00:00:04.294967296Z","long":"-0.002"}`, string(got[1].RawProperties))
}

// However many values a page has, each row has its own.
func TestManyValuesInAPage(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64 `parquet:"n"`
	}
	rows := make([]row, 1000)
	for i := range rows {
		rows[i].N = int64(i)
	}
	for _, perGroup := range []int{1, 127, 128, 129, 256, 1000} {
		source := parquet.Files(echo, nil, writeParquet(t, "n.parquet", rows, perGroup))
		assert.Equal(t, "echo: n.parquet", source.Name())
		for i, ev := range eventsOf(t, source, hogapi.Position{}) {
			require.Equal(t, fmt.Sprintf(`{"n":%d}`, i), string(ev.RawProperties))
		}
	}
}

// page is a row of Segment's table pages in a warehouse.
type page struct {
	ID          string    `parquet:"id"`
	AnonymousID string    `parquet:"anonymous_id"`
	UserID      *string   `parquet:"user_id,optional"`
	URL         string    `parquet:"url"`
	Width       int64     `parquet:"context_screen_width"`
	Timestamp   time.Time `parquet:"timestamp,timestamp(microsecond)"`
}

// A table of a warehouse makes the same events as Parquet and as CSV.
func TestWarehouse(t *testing.T) {
	t.Parallel()
	user := "u-1"
	at := time.Date(2024, 2, 29, 23, 59, 58, 12_000_000, time.UTC)
	rows := []page{{"p-1", "a-1", nil, "https://shop.example/", 1440, at}, {"p-2", "a-1", &user, "https://shop.example/cart", 390, at.Add(time.Minute)}}
	path := filepath.Join(t.TempDir(), "pages.csv")
	require.NoError(t, os.WriteFile(path, []byte("id,anonymous_id,user_id,url,context_screen_width,timestamp\n"+
		"p-1,a-1,,https://shop.example/,1440,2024-02-29 23:59:58.012\np-2,a-1,u-1,https://shop.example/cart,390,2024-03-01 00:00:58.012\n"), 0o600))
	texts := eventsOf(t, history.Files(warehouse.Segment(nil, nil), path), hogapi.Position{})
	typed := eventsOf(t, parquet.Files(warehouse.Segment(nil, nil), nil, writeParquet(t, "pages.parquet", rows, 1)), hogapi.Position{})
	require.Len(t, typed, 2)
	for i, ev := range typed {
		assert.Equal(t, texts[i].UUID, ev.UUID)
		assert.Equal(t, texts[i].Timestamp, ev.Timestamp)
		assert.Equal(t, []string{texts[i].Name, texts[i].DistinctID, texts[i].AnonymousID}, []string{ev.Name, ev.DistinctID, ev.AnonymousID})
		assert.JSONEq(t, string(texts[i].RawProperties), string(ev.RawProperties))
	}
}
