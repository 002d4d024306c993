package hogapi_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/reasons"
)

// whatever is a format that takes every record.
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

// What AppendBinary has written is read again; other bytes are an error and no panic.
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
