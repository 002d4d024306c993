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
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
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
