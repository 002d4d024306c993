package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// A state of another mapping is refused with that reason, wherever the format is in the name, and a state of
// another source is not taken for one.
func TestOtherMapping(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mapping 2", WithMapping("", 2))
	assert.Equal(t, "mapping 12; keep all, x=(mapping 3)", WithMapping("keep all, x=(mapping 3)", 12))
	for _, tt := range []struct{ was, now, mapping string }{
		{"amplitude: a.zip", "amplitude (mapping 2): a.zip", "1"},
		{"amplitude (keep all): a.zip", "amplitude (mapping 2; keep all): a.zip", "1"},
		{"amplitude (mapping 2; keep all): a.zip", "amplitude (mapping 12; keep all): a.zip", "2"},
		{"amplitude (mapping 12): a.zip", "amplitude (mapping 2): a.zip", "12"},
		{"amplitude (mapping 2): a.zip", "amplitude: a.zip", "2"},
		{"sorted amplitude: a.zip", "sorted amplitude (mapping 2): a.zip", "1"},
		{"links of sorted ga4 (person=set): a + sorted ga4 (person=set): a", "links of sorted ga4 (mapping 2; person=set): a + sorted ga4 (mapping 2; person=set): a", "1"},
		{"mixpanel: a + jsonl b", "mixpanel (mapping 2): a + jsonl b", "1"},
		{"amplitude: a", "amplitude (mapping 2): a, b", "1"},
	} {
		now := Of{Import: "imp", Target: "target", Source: tt.now}
		if strings.HasSuffix(tt.now, ", b") {
			now.Sources = sources{from: "amplitude (mapping 2): a"}
		}
		_, err := ReadSaved(savedWith(t, tt.was), now)
		unfit, ok := errors.AsType[*ops.InputError](err)
		require.True(t, ok, tt.was)
		assert.Equal(t, "checkpoint: begun with the mapping", unfit.Field, tt.was)
		assert.Equal(t, tt.mapping, unfit.Value)
		assert.Contains(t, unfit.Want, "finish the import with the release that began it")
		_, err = ReadSaved(savedWith(t, tt.now), now)
		require.NoError(t, err, "its own mapping")
	}
	for was, now := range map[string]string{
		"amplitude: a.zip":            "amplitude (mapping 2): b.zip",
		"amplitude (keep all): a.zip": "amplitude (mapping 2): a.zip",
		"mixpanel: a.zip":             "amplitude (mapping 2): a.zip",
		"jsonl: a":                    "sorted jsonl: a",
		"(":                           "amplitude (mapping 2; x): a", "": "",
	} {
		_, err := ReadSaved(savedWith(t, was), Of{Import: "imp", Target: "target", Source: now})
		if was == "" {
			require.NoError(t, err)
			continue
		}
		unfit, ok := errors.AsType[*ops.InputError](err)
		require.True(t, ok, was)
		assert.Equal(t, "checkpoint: "+FieldSource, unfit.Field, was)
	}
}

func savedWith(t *testing.T, source string) []byte {
	t.Helper()
	m := &memory{}
	f := &Files{Of: Of{Import: "imp", Target: "target", Source: source}, Checkpoint: m}
	_, err := f.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, f.Save(t.Context(), stateAt(5, 1)))
	return m.state
}
