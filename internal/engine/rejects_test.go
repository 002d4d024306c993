package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

var (
	oneID   = uuid.MustParse("0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01")
	otherID = uuid.MustParse("498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f")
)

// written adds rejects to a new file and returns its content.
func written(t *testing.T, rejects ...*event.Reject) string {
	t.Helper()
	disk := new(simdisk.Disk)
	file := engine.NewRejects(disk, "rejects")
	require.NoError(t, file.Open())
	for _, r := range rejects {
		require.NoError(t, file.Add(r))
	}
	require.NoError(t, file.Close())
	content, err := durable.Read(disk, "rejects")
	require.NoError(t, err)
	return string(content)
}

func withNote(r event.Reject, note engine.Note) event.Reject {
	*engine.NoteOf(&r) = note
	return r
}

// The form on disk: files of earlier versions are read, and earlier versions read these.
func TestLines(t *testing.T) {
	t.Parallel()
	why := &event.Error{
		Reason: "r", Field: "f", Value: "v", Want: "w", Err: errors.New("hogapi: bad\ttime"), Also: []*event.Error{{Reason: "a", Err: errors.New("b\nc")}},
	}
	full := engine.Note{
		Origin: event.Position{Offset: 3}, LeftOut: []string{"x"}, Import: "imp", IsMapped: true,
	}
	for _, tt := range []struct {
		name string
		line event.Reject
		want string
	}{
		{"nothing", event.Reject{}, `{"$reject":{}}`},
		{"a record", event.Reject{UUID: oneID, Raw: []byte("<&>\t")}, `{"uuid":"` + oneID.String() + `","$reject":{"raw":"<&>\t"}}`},
		{"any bytes", event.Reject{Raw: []byte{0xff, 0}}, `{"$reject":{"raw_base64":"/wA="}}`},
		{"an event", event.Reject{Event: json.RawMessage("{\n \"n\": 1.50}"), UUID: oneID}, `{"n":1.50,"uuid":"` + oneID.String() + `","$reject":{}}`},
		{"an event with a uuid", event.Reject{Event: json.RawMessage(`{"uuid":"` + otherID.String() + `"}`), UUID: oneID}, `{"uuid":"` + otherID.String() + `","$reject":{}}`},
		{"all of a note", withNote(event.Reject{Err: why, Status: 400, Position: event.Position{Key: "e.jsonl", Offset: 7}, Where: "e.jsonl:1"}, full), `{"$reject":{"reason":"r","field":"f","value":"v","want":"w","detail":"bad time","also":["a: b c"],` +
			`"status":400,"position":{"key":"e.jsonl","offset":7},"origin":{"offset":3},"where":"e.jsonl:1","left_out":["x"],"import":"imp","mapped":true}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want+"\n", written(t, &tt.line))
			_, note, err := engine.ReadLine([]byte(tt.want))
			require.NoError(t, err)
			assert.Equal(t, string(tt.line.Raw), string(note.Record()))
		})
	}
	file := engine.NewRejects(new(simdisk.Disk), "rejects")
	require.Error(t, file.AppendOnce(&event.Reject{Event: json.RawMessage("{")}))
}

// FuzzRecord: any record is in its line byte for byte.
func FuzzRecord(f *testing.F) {
	for _, record := range []string{"no JSON", "\xff\n\x00", `{"a":"\ud800"}`, "\u2028\ufffd", `{"uuid":"` + oneID.String() + `","uuid":1}`} {
		f.Add([]byte(record))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		line, found := strings.CutSuffix(written(t, &event.Reject{UUID: oneID, Raw: record}), "\n")
		require.True(t, found)
		require.NotContains(t, line, "\n")
		id, note, err := engine.ReadLine([]byte(line))
		require.NoError(t, err)
		require.Equal(t, oneID, id)
		require.Equal(t, string(record), string(note.Record()))
	})
}

func TestNoteOfAnEvent(t *testing.T) {
	t.Parallel()
	at, from := event.Position{Key: "a", Offset: 1}, event.Position{Key: "b", Offset: 2}
	derived := func(o event.Position, n uint64) uuid.UUID { return wire.NewIdentity("imp").At(o, n) }
	for name, tt := range map[string]struct {
		note        engine.Note
		reject, own uuid.UUID
		i           uint64
		want        uuid.UUID
	}{
		"the reject's":        {engine.Note{}, oneID, otherID, 0, oneID},
		"the event's":         {engine.Note{}, oneID, otherID, 1, otherID},
		"two events, one own": {engine.Note{Import: "imp", Position: at}, oneID, oneID, 1, derived(at, 1)},
		"of the second event": {engine.Note{Import: "imp", Position: at, Number: 1, Raw: "{}"}, oneID, uuid.Nil, 1, oneID},
		"of the one before":   {engine.Note{Import: "imp", Position: at, Number: 1, Raw: "{}"}, oneID, uuid.Nil, 0, derived(at, 0)},
		"as it was sent":      {engine.Note{Import: "imp", Position: at, Number: 1}, oneID, oneID, 0, oneID},
		"of the position":     {engine.Note{Import: "imp", Position: at}, uuid.Nil, uuid.Nil, 0, derived(at, 0)},
		"of the origin":       {engine.Note{Import: "imp", Position: at, Origin: from}, uuid.Nil, uuid.Nil, 0, derived(from, 0)},
		"of no place":         {engine.Note{Import: "imp"}, uuid.Nil, uuid.Nil, 0, uuid.Nil},
		"of no import":        {engine.Note{Position: at}, uuid.Nil, uuid.Nil, 0, uuid.Nil},
	} {
		assert.Equal(t, tt.want, tt.note.UUIDOf(tt.reject, tt.own, tt.i), name)
	}
}

func TestCheckCorrected(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, engine.CheckCorrected([]byte(`{"left_out":["x"]}`), false), "left_out")
	require.ErrorContains(t, engine.CheckCorrected([]byte(`{}`), true), "made no event")
	require.NoError(t, engine.CheckCorrected([]byte(`{"reason":"r"}`), false))
	require.NoError(t, engine.CheckCorrected([]byte(`"of somebody"`), true))
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	place := event.Position{Key: "a", Offset: 1}
	first := engine.Note{Reason: "r", Import: "imp", Position: place, Number: 1, Raw: "{}"}
	other := func(change func(*engine.Note)) *engine.Note {
		note := first
		change(&note)
		return &note
	}
	var r engine.Repeats
	assert.False(t, r.Has(oneID, &first, []byte("a")))
	assert.True(t, r.Has(oneID, other(func(n *engine.Note) { n.Reason, n.Detail = "s", "t" }), []byte("b")), "for another reason")
	assert.False(t, r.Has(otherID, &first, nil), "another uuid")
	for name, change := range map[string]func(*engine.Note){
		"position": func(n *engine.Note) { n.Position.Offset = 2 }, "file": func(n *engine.Note) { n.Position.Key = "b" },
		"number": func(n *engine.Note) { n.Number = 2 }, "record": func(n *engine.Note) { n.Raw = "[]" },
		"import": func(n *engine.Note) { n.Import = "other" },
	} {
		assert.False(t, r.Has(oneID, other(change), nil), "another %s", name)
		assert.True(t, r.Has(oneID, other(change), nil), "the same %s", name)
	}
	sent := other(func(n *engine.Note) { n.Raw = "" })
	assert.False(t, r.Has(oneID, sent, []byte(`{"event":"a","$reject":{"reason":"r"}}`)))
	assert.True(t, r.Has(oneID, sent, []byte(`{"event":"a","$reject":{"reason":"s"}}`)), "the same event")
	assert.False(t, r.Has(oneID, sent, []byte(`{"event":"b","$reject":{"reason":"r"}}`)), "another event")
	assert.False(t, r.Has(uuid.Nil, nil, []byte("a")))
	assert.True(t, r.Has(uuid.Nil, nil, []byte("a")), "by its text")
	for range 1 << 17 {
		r.Has(uuid.New(), &first, nil)
	}
	assert.False(t, r.Has(oneID, &first, nil), "too long ago")

	rest, isTorn := engine.AfterHole([]byte("a\x00\x00b"))
	assert.True(t, isTorn)
	assert.Equal(t, "b", string(rest))
	rest, isTorn = engine.AfterHole([]byte("\x00ab"))
	assert.Equal(t, "ab", string(rest))
	assert.True(t, isTorn)
	rest, isTorn = engine.AfterHole([]byte("ab"))
	assert.False(t, isTorn)
	assert.Equal(t, "ab", string(rest))
}

func TestRejectsHaveOneOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "rejects")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	owner, other := engine.NewRejects(durable.OS{}, path), engine.NewRejects(durable.OS{}, link)
	require.NoError(t, owner.Open())
	require.NoError(t, owner.Add(&event.Reject{Raw: []byte("ours")}))
	for _, f := range []*engine.Rejects{owner, other} {
		require.ErrorIs(t, f.Open(), durable.ErrLocked)
		require.ErrorIs(t, f.AppendOnce(&event.Reject{}), durable.ErrLocked)
	}
	require.NoError(t, owner.Close())
	require.NoError(t, other.AppendOnce(&event.Reject{Raw: []byte("theirs")}))
	require.NoError(t, owner.Open(), "given back")
	require.NoError(t, os.Remove(path+".lock"))
	require.ErrorIs(t, owner.Sync(), durable.ErrLockLost)
	require.ErrorIs(t, owner.Close(), durable.ErrLockLost)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, `{"$reject":{"raw":"ours"}}`+"\n"+`{"$reject":{"raw":"theirs"}}`+"\n", string(content))
	require.ErrorAs(t, engine.NewRejects(durable.OS{}, "").Open(), new(*ops.InputError))
}

// Lines that others append to the file stay, also while it has an owner.
func TestRejectsAreAppendedToByOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rejects")
	file := engine.NewRejects(durable.OS{}, path)
	require.NoError(t, file.Open())
	for range 3 {
		require.NoError(t, file.Add(&event.Reject{Raw: []byte("ours")}))
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString("of somebody\n")
		require.NoError(t, errors.Join(err, f.Close()))
	}
	require.NoError(t, file.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat(`{"$reject":{"raw":"ours"}}`+"\nof somebody\n", 3), string(content))
}

// Lines survive a crash once Sync has returned without an error, and each failed operation is reported.
func TestRejectsAreDurable(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	failures := 0
	for n := 1; n < 20; n++ {
		disk := new(simdisk.Disk)
		disk.FailAt(n, broken)
		file := engine.NewRejects(disk, "rejects")
		err := file.AppendOnce(&event.Reject{Raw: []byte("one")})
		if err == nil {
			content, err := durable.Read(disk.Crashed(uint64(n)), "rejects")
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(content), "\n"))
			break
		}
		require.ErrorIs(t, err, broken)
		failures++
		_, err = disk.Lock("rejects.lock")
		require.NoError(t, err, "the lock is given back")
	}
	assert.Equal(t, 4, failures, "creation, sync of the folder, write, sync")
}

func TestEntries(t *testing.T) {
	t.Parallel()
	var r engine.Repeats
	text := func(s string) []byte { return []byte(s) }
	reject := `{"uuid":"` + oneID.String() + `","$reject":{"reason":"no_name","raw":"{}"}}`
	e := r.Next(text(reject), false)
	assert.Equal(t, oneID, e.UUID)
	require.NotNil(t, e.Note)
	assert.Equal(t, "{}", string(e.Note.Whole()))
	assert.Equal(t, "repeated after a crash", r.Next(text("\x00\x00"+reject), false).Skip)
	assert.Equal(t, "torn by a crash", r.Next(text("\x00\x00,\"event\":1}"), false).Skip)

	e = r.Next(text(`{"event":"e"}`), false)
	assert.Equal(t, engine.Entry{Text: text(`{"event":"e"}`), IsFinal: true}, e, "it was corrected by hand")
	e = r.Next(text("no JSON"), false)
	assert.Equal(t, engine.Entry{Text: text("no JSON")}, e)
	e = r.Next(text(reject), true)
	assert.Equal(t, engine.Entry{UUID: oneID, Text: text(reject)}, e, "what is cut is no reject")

	note := engine.Note{Raw: "{", LeftOut: []string{"properties"}}
	assert.Nil(t, note.Whole(), "they are properties, and not a record")
	note.IsMapped = true
	assert.NotNil(t, note.Whole())
}

func TestIdentityOfARejectsEvents(t *testing.T) {
	t.Parallel()
	place := event.Position{Key: "a", Offset: 1}
	e := engine.Entry{UUID: oneID, Note: &engine.Note{Import: "imp", Position: place, Raw: "{}"}}
	id, number := e.Identity(0, uuid.Nil)
	assert.Equal(t, oneID, id)
	assert.Zero(t, number, "of a line, it is counted")
	id, _ = e.Identity(1, oneID)
	assert.Equal(t, wire.NewIdentity("imp").At(place, 1), id, "two events, two uuids")

	e.Note.Format = "segment"
	id, number = e.Identity(1, oneID)
	assert.Equal(t, oneID, id, "a format may give its events one uuid")
	assert.Equal(t, wire.Nth(1), number)
	id, _ = e.Identity(1, uuid.Nil)
	assert.Equal(t, wire.NewIdentity("imp").At(place, wire.Nth(1)), id)
}
