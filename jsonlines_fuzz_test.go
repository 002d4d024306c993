package hogapi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/reasons"
)

// Events of a line are the same as encoding/json would read, or the line is refused.
func FuzzJSONLines(f *testing.F) {
	f.Add([]byte(oddLines))
	f.Add([]byte(`{"event":"a","distinct_id":12,"timestamp":"2024-05-01T12:30:00.5+02:00","uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","properties":{"n":1.50}}`))
	f.Add([]byte(`{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":7}` + "\n" + `{"uuid":"{461FC531-6209-5996-B1B1-A8AA997A6516}","event`))
	f.Add([]byte(`{"event":"a","$set":{"x":1},"$set_once":{},"properties":{"a":"\ud83e\udd94"},"$reject":{"left_out":[]}}`))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(folder, "e.jsonl")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		got, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
		if err != nil && strings.Contains(err.Error(), "is not finished") {
			content, err = content[:bytes.LastIndexByte(content, '\n')+1], nil
		}
		if err != nil {
			require.Empty(t, got, "a plain file is refused as a whole or not at all")
			return
		}
		checkLines(t, content, got)
		for i, r := range got {
			rest, err := readSource(t.Context(), hogapi.JSONLinesFile(path), r.Position)
			if err != nil {
				require.ErrorContains(t, err, "is not finished")
			}
			require.Equal(t, got[i+1:], append([]record{}, rest...))
		}
	})
}

// checkLines compares records with the lines of a file, read in another way.
func checkLines(t *testing.T, content []byte, got []record) {
	t.Helper()
	offset := int64(0)
	for i, line := range strings.Split(string(content), "\n") {
		offset += int64(len(line)) + 1
		if i == 0 {
			line = strings.TrimPrefix(line, "\xef\xbb\xbf")
		}
		line = strings.TrimSuffix(line, "\r")
		if strings.Trim(line, " \t\r") == "" {
			continue
		}
		require.NotEmpty(t, got, "line %d vanished", i+1)
		r := got[0]
		got = got[1:]
		require.Equal(t, offset, r.Position.Offset)
		if r.Bad != "" {
			require.Equal(t, line, r.Raw)
			checkUUIDOfBadLine(t, line, r.UUID)
			continue
		}
		var want struct {
			Event      *string         `json:"event"`
			DistinctID any             `json:"distinct_id"`
			Timestamp  *time.Time      `json:"timestamp"`
			UUID       *string         `json:"uuid"`
			Properties map[string]any  `json:"properties"`
			Set        json.RawMessage `json:"$set"`
			SetOnce    json.RawMessage `json:"$set_once"`
			Reject     any             `json:"$reject"`
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		require.NoError(t, d.Decode(&want), "what is taken is good JSON: %s", line)
		if want.Event == nil {
			require.Empty(t, r.Name)
		} else {
			require.Equal(t, *want.Event, r.Name)
		}
		switch id := want.DistinctID.(type) {
		case nil:
			require.Empty(t, r.DistinctID)
		case string:
			require.Equal(t, id, r.DistinctID)
		case json.Number:
			require.Equal(t, id.String(), r.DistinctID)
		default:
			require.Fail(t, "an id that is neither text nor number")
		}
		if want.Timestamp == nil {
			require.Empty(t, r.Time)
		} else {
			at, err := time.Parse(time.RFC3339Nano, r.Time)
			require.NoError(t, err)
			require.True(t, want.Timestamp.Equal(at))
		}
		if want.UUID == nil || *want.UUID == "" {
			require.Equal(t, uuid.Nil, r.UUID)
		} else {
			require.Equal(t, uuid.MustParse(*want.UUID), r.UUID)
		}
		checkProperties(t, want.Properties, want.Set, want.SetOnce, r.Properties)
	}
	require.Empty(t, got, "records that no line has")
}

// checkUUIDOfBadLine demands that a bad line has its uuid, where it is plain that it has one, and never another.
func checkUUIDOfBadLine(t *testing.T, line string, got uuid.UUID) {
	t.Helper()
	if strings.Contains(line, `\`) {
		return // keys and uuids can be written in many ways
	}
	if got != uuid.Nil {
		require.Contains(t, strings.ReplaceAll(strings.ToLower(line), "-", ""), hex.EncodeToString(got[:]))
	}
	var members map[string]json.RawMessage
	if strings.Count(line, `"uuid"`) != 1 || json.Unmarshal([]byte(line), &members) != nil {
		return
	}
	text := strings.Trim(string(members["uuid"]), `"`)
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = text[1 : len(text)-1]
	}
	want, err := uuid.Parse(text)
	if braced := len(text) == 38; braced || err != nil || want.Variant() != uuid.RFC4122 {
		want = uuid.Nil
	}
	require.Equal(t, want, got)
}

func checkProperties(t *testing.T, properties map[string]any, set, setOnce json.RawMessage, got string) {
	t.Helper()
	if got == "" {
		require.Nil(t, properties)
		return
	}
	want := map[string]any{}
	maps.Copy(want, properties)
	for key, raw := range map[string]json.RawMessage{"$set": set, "$set_once": setOnce} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if _, double := properties[key]; double {
			return // the gate refuses it
		}
		want[key] = decoded(t, raw)
	}
	require.Equal(t, any(want), decoded(t, []byte(got)))
}

// decoded is JSON with its numbers digit for digit.
func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%s", raw)
	return v
}

// Format whatever takes every record.
var whatever = hogapi.Format{Name: "whatever", Convert: func(record []byte) ([]hogapi.Event, error) {
	if !json.Valid(record) {
		return nil, &json.SyntaxError{}
	}
	return []hogapi.Event{{Name: "e", DistinctID: "a", Timestamp: longAgo, RawProperties: record}}, nil
}}

// originsOf reads a file of the content after a position: where the uuids come from, and the positions.
func originsOf(t *testing.T, content []byte, after hogapi.Position) (origins, positions []hogapi.Position, failed bool) {
	t.Helper()
	source := hogapi.FileSourceFS(fstest.MapFS{"f": {Data: content}}, whatever, "f")
	for ev, err := range source.Events(t.Context(), after) {
		if err != nil {
			return origins, positions, true
		}
		origins, positions = append(origins, ev.Origin), append(positions, ev.Position)
	}
	return origins, positions, false
}

// However bytes are laid out, reading them does not panic, and gives the same records again: packed, and from every position on.
func FuzzFiles(f *testing.F) {
	rows := rowsOf(5)
	for _, write := range layouts {
		f.Add([]byte(write(rows)))
	}
	for _, seed := range []string{"", "[", "[]", "{}{}", "a,b\n\"c\n", "[1,2,,3]", "{\"a\":\n1}", "\x00\x00\x00\x00\x00\x00", "{}\n{", "\xef\xbb\xbf[{}]", "a\tb\nc\td\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte("\x1f\x8b")) || bytes.HasPrefix(content, []byte("PK")) || bytes.HasPrefix(content, []byte("\x28\xb5\x2f\xfd")) {
			return // packed already
		}
		origins, positions, failed := originsOf(t, content, hogapi.Position{})
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(content)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		packedOrigins, packedPositions, packedFailed := originsOf(t, b.Bytes(), hogapi.Position{})
		require.Equal(t, failed, packedFailed)
		require.Equal(t, origins, packedOrigins)
		require.Equal(t, positions, packedPositions)
		for i, p := range positions[:min(len(positions), 20)] {
			for _, text := range [][]byte{content, b.Bytes()} {
				rest, _, restFailed := originsOf(t, text, p)
				require.Equal(t, failed, restFailed, "after %s", p)
				require.Equal(t, len(origins)-i-1, len(rest), "after %s", p)
				require.Equal(t, append([]hogapi.Position(nil), origins[i+1:]...), append([]hogapi.Position(nil), rest...), "after %s", p)
			}
		}
	})
}

// UnmarshalBinary reads the output of AppendBinary again; other bytes are an error, not a panic.
func FuzzEventBinary(f *testing.F) {
	for _, ev := range []hogapi.Event{
		{Name: "e", DistinctID: "a", Timestamp: longAgo, Properties: map[string]any{"n": 1.5}, Set: map[string]any{"a": json.Number("12345678901234567890")}},
		hogapi.BadEvent(hogapi.Position{Key: "k", Offset: 7}, []byte("raw"), &hogapi.EventError{Reason: reasons.BadRecord, Field: "f", Want: "w"}),
		hogapi.SkippedEvent(hogapi.Position{Offset: 1}, "why"),
	} {
		data, err := ev.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev, again hogapi.Event
		if ev.UnmarshalBinary(data) != nil {
			return
		}
		kept, err := ev.AppendBinary(nil)
		if err != nil {
			return // properties that are not JSON
		}
		require.NoError(t, again.UnmarshalBinary(kept))
		twice, err := again.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, kept, twice)
	})
}
