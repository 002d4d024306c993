package formats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// edited returns the event of a format after the changes.
func edited(t *testing.T, ev hogapi.Event, options *formats.EditOptions) (hogapi.Event, error) {
	t.Helper()
	format, err := formats.EditFormat(history.Format{Name: "f", Convert: func([]byte) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }}, options)
	require.NoError(t, err)
	events, err := format.Convert(nil)
	if err != nil {
		return hogapi.Event{}, err
	}
	require.Len(t, events, 1)
	return events[0], nil
}

func TestPropertiesAreEdited(t *testing.T) {
	t.Parallel()
	both := &formats.EditOptions{DropProperties: []string{"email", "$ip"}, RenameProperties: map[string]string{"url": "$current_url", "a": "b", "b": "c"}}
	for name, c := range map[string]struct{ raw, want string }{
		"nothing to edit":                {"{ \"x\" : 1.0e0,\n\"y\":\"\\u0061\", \"$set\": {\"z\":{\"email\":1} } }", "same"},
		"no properties":                  {`{}`, "same"},
		"drops":                          {`{"email":"a@b.c","x":1,"$ip":"1.2.3.4"}`, `{"x":1}`},
		"drops the only one":             {`{"email":{"email":1}}`, `{}`},
		"a name with an escape":          {`{"em\u0061il":1,"x\u0061":2}`, `{"x\u0061":2}`},
		"within persons and groups":      {`{"$set":{"email":1,"k": 12345678901234567890 },"$set_once":{"email":1},"$group_set":{"email":1,"n":2}}`, `{"$set":{"k": 12345678901234567890},"$set_once":{},"$group_set":{"n":2}}`},
		"not within other objects":       {`{"o":{"email":1},"l":["email"],"$ip":1}`, `{"o":{"email":1},"l":["email"]}`},
		"persons of another kind":        {`{"$set":"email","$set_once":null,"$ip":1}`, `{"$set":"email","$set_once":null}`},
		"a name twice in a person":       {`{"$set":{"email":1,"x":1,"email":2,"x":1.0}}`, `{"$set":{"x":1,"x":1.0}}`},
		"renames":                        {`{"url":"/a","x": [1, 2] , "n":0.1000000000000000055}`, `{"$current_url":"/a","x": [1, 2],"n":0.1000000000000000055}`},
		"renames in a chain":             {`{"a":1,"b":2}`, `{"b":1,"c":2}`},
		"renames within persons":         {`{"$set":{"url":1}}`, `{"$set":{"$current_url":1}}`},
		"the same value":                 {`{"url":"/a","$current_url":"/a"}`, `{"$current_url":"/a"}`},
		"two values":                     {`{"$current_url":"/a","x":1,"url":"/b"}`, "the properties $current_url and url would both be called $current_url, with different values"},
		"two values of a person":         {`{"$set_once":{"url":1,"$current_url":2}}`, "in $set_once, the properties $current_url and url would both"},
		"two values of a name":           {`{"$set":{"url":1,"url":2}}`, "in $set, the properties url and url would both"},
		"a name twice, which is refused": {`{"email":1,"email":2}`, "same"},
		"no object":                      {`[1]`, "same"},
		"no JSON":                        {`{"email":1`, "same"},
		"blanks around":                  {" {\"email\":1 , \"x\":2}\n", `{"x":2}`},
	} {
		ev, err := edited(t, hogapi.Event{Name: "e", RawProperties: json.RawMessage(c.raw)}, both)
		switch {
		case err != nil:
			assert.ErrorContains(t, err, c.want, name)
		case c.want == "same":
			assert.Equal(t, c.raw, string(ev.RawProperties), name) //nolint:testifylint // each byte
		default:
			assert.Equal(t, c.want, string(ev.RawProperties), name) //nolint:testifylint // each byte
		}
	}
}

func TestMapsOfPropertiesAreEdited(t *testing.T) {
	t.Parallel()
	type values = map[string]any
	options := &formats.EditOptions{DropProperties: []string{"email"}, RenameProperties: map[string]string{"url": "$current_url"}}
	given := hogapi.Event{
		Name: "e", Set: values{"email": 1, "x": 2}, SetOnce: values{"url": "/a"},
		Properties: values{
			"email": 1, "url": "/a", "$current_url": "/a", "$set": values{"email": 1, "y": 2}, "$set_once": map[string]string{"email": "a", "z": "<b>"},
			"$group_set": json.RawMessage(`{"email":1,"n":12345678901234567890}`), "o": values{"email": 1},
		},
	}
	before := fmt.Sprint(given)
	ev, err := edited(t, given, options)
	require.NoError(t, err)
	assert.Equal(t, before, fmt.Sprint(given), "the maps of the source are not changed")
	assert.Equal(t, values{"x": 2}, ev.Set)
	assert.Equal(t, values{"$current_url": "/a"}, ev.SetOnce)
	text, err := json.Marshal(ev.Properties)
	require.NoError(t, err)
	assert.JSONEq(t, `{"$current_url":"/a","$set":{"y":2},"$set_once":{"z":"<b>"},"$group_set":{"n":12345678901234567890},"o":{"email":1}}`, string(text))
	assert.Contains(t, string(text), "12345678901234567890")

	ev, err = edited(t, hogapi.Event{Name: "e", Properties: values{"x": 1}}, options)
	require.NoError(t, err)
	assert.Equal(t, values{"x": 1}, ev.Properties)
	assert.Nil(t, ev.Set)
	_, err = edited(t, hogapi.Event{Properties: values{"url": "/a", "$current_url": "/b"}}, options)
	require.ErrorContains(t, err, "would both be called $current_url")
	_, err = edited(t, hogapi.Event{Set: values{"url": "/a", "$current_url": "/b"}}, options)
	require.ErrorContains(t, err, "in $set, the properties")
	_, err = edited(t, hogapi.Event{Properties: values{"$set": values{"url": "/a", "$current_url": "/b"}}}, options)
	require.ErrorContains(t, err, "in $set, the properties")
}

func TestEventsAreRenamed(t *testing.T) {
	t.Parallel()
	options := &formats.EditOptions{RenameEvents: map[string]string{"Old Name": "new_name", "a": "b", "b": "a"}, DropProperties: []string{"alias"}}
	for from, to := range map[string]string{"Old Name": "new_name", "a": "b", "b": "a", "c": "c", "": ""} {
		ev, err := edited(t, hogapi.Event{Name: from}, options)
		require.NoError(t, err)
		assert.Equal(t, to, ev.Name)
	}
	for name, want := range map[string]string{"buy": `{"x":1}`, "$create_alias": `{"alias":"a","x":1}`} {
		ev, err := edited(t, hogapi.Event{Name: name, RawProperties: json.RawMessage(`{"alias":"a","x":1}`)}, options)
		require.NoError(t, err)
		assert.Equal(t, want, string(ev.RawProperties), "the alias of a merge is no property of an event") //nolint:testifylint // each byte
	}
}

func TestEditsThatWouldChangePersonsAreRefused(t *testing.T) {
	t.Parallel()
	type names = map[string]string
	acting := []string{
		"distinct_id", "$set", "$set_once", "$unset", "$groups", "$group_type", "$group_key", "$group_set", "$group_0", "$anon_distinct_id",
		"$process_person_profile", "$cookieless_mode", "$geoip_disable", "$import_job_id", "$ignore_sent_at", "", " ", "a\xff",
	}
	var refused []formats.EditOptions
	for _, name := range acting {
		refused = append(refused, formats.EditOptions{DropProperties: []string{name}},
			formats.EditOptions{RenameProperties: names{name: "x"}}, formats.EditOptions{RenameProperties: names{"x": name}})
	}
	for _, name := range []string{"$identify", "$create_alias", "$merge_dangerously", "$groupidentify", "", "a\xff"} {
		refused = append(refused, formats.EditOptions{RenameEvents: names{name: "x"}}, formats.EditOptions{RenameEvents: names{"x": name}})
	}
	refused = append(refused, formats.EditOptions{RenameProperties: names{"x": "alias"}},
		formats.EditOptions{DropProperties: []string{"x"}, RenameProperties: names{"x": "y"}},
		formats.EditOptions{DropProperties: []string{"y"}, RenameProperties: names{"x": "y"}})
	for _, options := range refused {
		_, err := formats.Edit(history.JSONLines("e.jsonl"), &options)
		bad := new(hogapi.InputError)
		require.ErrorAs(t, err, &bad, "%+v", options)
		assert.Contains(t, bad.Field, "EditOptions.")
		_, err = formats.EditFormat(history.Format{}, &options)
		require.Error(t, err)
	}
	for _, options := range []formats.EditOptions{
		{DropProperties: []string{"$ip", "$session_id", "alias"}}, {RenameProperties: names{"ip": "$ip", "session": "$session_id"}},
		{RenameEvents: names{"page_view": "$pageview", "$pageview": "page"}},
	} {
		_, err := formats.Edit(history.JSONLines("e.jsonl"), &options)
		require.NoError(t, err, "%+v", options)
	}
}

func TestTheNameOfASourceHasItsEdits(t *testing.T) {
	t.Parallel()
	source := history.JSONLines("e.jsonl")
	same, err := formats.Edit(source, nil)
	require.NoError(t, err)
	assert.Equal(t, source.Name(), same.Name())
	same, err = formats.Edit(source, &formats.EditOptions{})
	require.NoError(t, err)
	assert.Equal(t, source.Name(), same.Name())
	options := &formats.EditOptions{RenameEvents: map[string]string{"b": "c", "a": "b"}, DropProperties: []string{"y", "x", "y"}, RenameProperties: map[string]string{"p": "q"}}
	const settings = `rename "a"="b", rename "b"="c", drop "x", drop "y", rename-property "p"="q"`
	other, err := formats.Edit(source, options)
	require.NoError(t, err)
	assert.Equal(t, settings+": "+source.Name(), other.Name())
	for before, want := range map[string]string{"": settings, "zone UTC": "zone UTC; " + settings} {
		format, err := formats.EditFormat(history.Format{Name: "f", Options: before, Convert: func([]byte) ([]hogapi.Event, error) { return nil, nil }}, options)
		require.NoError(t, err)
		assert.Equal(t, want, format.Options)
		format, err = formats.EditFormat(history.Format{Name: "f", Options: before}, nil)
		require.NoError(t, err)
		assert.Equal(t, before, format.Options)
	}
}

// An import with edits has the uuids of one without, continues when files are added, and not with other edits. Its
// rejects are imported with the same edits.
func TestAnImportWithEdits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := func(i int, more string) string {
		return fmt.Sprintf(`{"event":"Old Name","distinct_id":"p","timestamp":"2024-01-01T00:00:%02dZ","properties":{"email":"secret","n":%d%s}}`+"\n", i, i, more)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	one := write("1.jsonl", line(1, "")+line(2, `,"url":"/a","$current_url":"/b"`)+line(3, `,"$set":{"email":"secret","plan":"pro"}`))
	two := write("2.jsonl", line(4, ""))
	edits := &formats.EditOptions{RenameEvents: map[string]string{"Old Name": "new_name"}, DropProperties: []string{"email"}, RenameProperties: map[string]string{"url": "$current_url"}}
	format := history.Format{Name: "lines", Convert: func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			Event      string
			DistinctID string `json:"distinct_id"`
			Timestamp  time.Time
			Properties json.RawMessage
		}
		err := json.Unmarshal(record, &v)
		return []hogapi.Event{{Name: v.Event, DistinctID: v.DistinctID, Timestamp: v.Timestamp, RawProperties: v.Properties}}, err
	}}
	sources := map[string]func(options *formats.EditOptions, paths ...string) (history.Source, error){
		"lines": func(options *formats.EditOptions, paths ...string) (history.Source, error) {
			return formats.Edit(history.JSONLines(paths...), options)
		},
		"format": func(options *formats.EditOptions, paths ...string) (history.Source, error) {
			edited, err := formats.EditFormat(format, options)
			return history.Files(edited, paths...), err
		},
		"source": func(options *formats.EditOptions, paths ...string) (history.Source, error) {
			return formats.Edit(history.Files(format, paths...), options)
		},
	}
	rejected := map[string]func(path string) (history.Source, error){
		"lines": func(path string) (history.Source, error) {
			return formats.Edit(history.Rejected(path, nil), edits)
		},
		"format": func(path string) (history.Source, error) {
			edited, err := formats.EditFormat(format, edits)
			return history.Rejected(path, edited.Convert), err
		},
		"source": func(path string) (history.Source, error) {
			return formats.Edit(history.Rejected(path, format.Convert), edits)
		},
	}
	for name, of := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uuids := func(options *formats.EditOptions) (ids []uuid.UUID) {
				server := hogapitest.New()
				source, err := of(options, one, two)
				require.NoError(t, err)
				ignore := hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })
				_, err = history.Import(t.Context(), server.Client(t), source, &history.Options{ID: "i", MaxRejectShare: -1, Rejects: ignore})
				require.NoError(t, err)
				for ev := range server.Ledger().Events() {
					ids = append(ids, ev.UUID)
				}
				return ids
			}
			assert.Subset(t, uuids(nil), uuids(edits))

			server, work := hogapitest.New(), t.TempDir()
			client := server.Client(t)
			rejects := filepath.Join(work, "rejects.jsonl")
			run := func(options *formats.EditOptions, paths ...string) (hogapi.Receipt, error) {
				source, err := of(options, paths...)
				require.NoError(t, err)
				return history.Import(t.Context(), client, source, &history.Options{
					ID: "i", MaxRejectShare: -1, Checkpoint: history.CheckpointFile(filepath.Join(work, "ckpt")), Rejects: history.RejectFile(rejects),
				})
			}
			receipt, err := run(edits, one)
			require.NoError(t, err)
			assert.EqualValues(t, 2, receipt.Acknowledged)
			assert.EqualValues(t, 1, receipt.Rejected)
			receipt, err = run(edits, one, two)
			require.NoError(t, err, "a file was added")
			assert.EqualValues(t, 3, receipt.Acknowledged)
			for _, others := range []*formats.EditOptions{nil, {DropProperties: []string{"email"}}} {
				_, err = run(others, one, two)
				require.ErrorContains(t, err, "begun with the source")
			}
			text, err := os.ReadFile(rejects)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(rejects, []byte(strings.ReplaceAll(string(text), `\"/b\"`, `\"/a\"`)), 0o600))
			source, err := rejected[name](rejects)
			require.NoError(t, err)
			_, err = history.Import(t.Context(), client, source, &history.Options{ID: "i"})
			require.NoError(t, err)
			names := map[string]int{}
			for ev := range server.Ledger().Events() {
				names[ev.Event]++
				assert.NotContains(t, string(ev.Properties), "secret")
				assert.NotContains(t, string(ev.Properties), `"url"`)
			}
			assert.Equal(t, map[string]int{"new_name": 4}, names)
		})
	}
}

// No edit loses a property that it does not drop, or breaks the JSON.
func FuzzEdit(f *testing.F) {
	f.Add(`{"a":1,"b":{"c":2},"$set":{"a":"x","z":"\u0061"}}`, "a", "b", "n")
	f.Add(`{"$set":{"a":1,"a":2}}`, "x", "a", "b")
	f.Fuzz(func(t *testing.T, raw, drop, from, to string) {
		options := &formats.EditOptions{DropProperties: []string{drop}, RenameProperties: map[string]string{from: to}}
		convert := func([]byte) ([]hogapi.Event, error) {
			return []hogapi.Event{{RawProperties: json.RawMessage(raw)}}, nil
		}
		format, err := formats.EditFormat(history.Format{Convert: convert}, options)
		if err != nil {
			return
		}
		events, err := format.Convert(nil)
		var before, after map[string]json.RawMessage
		if err != nil || json.Unmarshal([]byte(raw), &before) != nil {
			return
		}
		out := string(events[0].RawProperties)
		if out == raw {
			return
		}
		require.NoError(t, json.Unmarshal(events[0].RawProperties, &after), out)
		delete(before, drop)
		if value, ok := before[from]; ok {
			delete(before, from)
			before[to] = value
		}
		assert.ElementsMatch(t, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		for name, value := range before {
			if name != "$set" && name != "$set_once" && name != "$group_set" {
				assert.Equal(t, string(value), string(after[name]), name)
			}
		}
	})
}

// A history is imported without addresses of people, and with one name for an event that had two.
func ExampleEdit() {
	folder, err := os.MkdirTemp("", "hogapi-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "events.jsonl")
	content := `{"event":"Sign Up","distinct_id":"ann","timestamp":"2024-05-01T12:00:00Z","properties":{"email":"ann@example.com","$set":{"email":"ann@example.com","plan":"pro"}}}` + "\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	source, err := formats.Edit(history.JSONLines(path), &formats.EditOptions{
		RenameEvents: map[string]string{"Sign Up": "signed_up"}, DropProperties: []string{"email", "$ip"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range source.Events(context.Background(), hogapi.Position{}) {
		fmt.Println(ev.Name, string(ev.RawProperties), err)
	}
	// Output: signed_up {"$set":{"plan":"pro"}} <nil>
}

// The events of a vendor's format are edited in the same way.
func ExampleEditFormat() {
	table, err := generic.Format(nil)
	if err == nil {
		table, err = formats.EditFormat(table, &formats.EditOptions{RenameProperties: map[string]string{"page": "$current_url"}})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := table.Convert([]byte(`{"event":"$pageview","distinct_id":"ann","timestamp":"2024-05-01T12:00:00Z","page":"https://example.com/"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(events[0].RawProperties))
	// Output: {"$current_url":"https://example.com/"}
}
