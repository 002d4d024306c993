package opt

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Absent, null and a value are three things, on the way out and on the way in.
func TestOpt(t *testing.T) {
	type fields struct {
		Name Opt[string] `json:"name,omitzero"`
	}
	seven := 7
	for _, tt := range []struct {
		opt    Opt[string]
		json   string
		text   string
		or     string
		absent bool
		null   bool
	}{
		{Opt[string]{}, `{}`, "absent", "other", true, false},
		{Null[string](), `{"name":null}`, "null", "other", false, true},
		{Set(""), `{"name":""}`, "", "", false, false},
		{Set("x"), `{"name":"x"}`, "x", "x", false, false},
	} {
		b, err := json.Marshal(fields{tt.opt})
		require.NoError(t, err)
		require.JSONEq(t, tt.json, string(b))
		var back fields
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, tt.opt, back.Name)
		require.Equal(t, tt.text, tt.opt.String())
		require.Equal(t, tt.or, tt.opt.Or("other"))
		require.Equal(t, tt.absent, tt.opt.IsZero())
		require.Equal(t, tt.null, tt.opt.IsNull())
		value, ok := tt.opt.Get()
		require.Equal(t, !tt.absent && !tt.null, ok)
		require.Equal(t, ok, value == tt.text)
	}
	require.Equal(t, Set(7), SetOrNull(&seven))
	require.Equal(t, Null[int](), SetOrNull[int](nil))

	_, err := json.Marshal(Opt[string]{})
	require.ErrorContains(t, err, "omitzero")
	_, err = json.Marshal(Set[*int](nil))
	require.ErrorContains(t, err, "use Null to send null")
	_, err = json.Marshal(Set(func() {}))
	require.ErrorContains(t, err, "unsupported type")
	require.Error(t, json.Unmarshal([]byte(`{"name":7}`), new(fields)))
}

const testCredential = "canary-1d6"

// Only Reveal returns a secret.
func TestSecret(t *testing.T) {
	var read struct{ Key Secret }
	require.NoError(t, json.Unmarshal([]byte(`{"Key":"`+testCredential+`"}`), &read))
	require.Equal(t, testCredential, read.Key.Reveal())
	require.Equal(t, "[redacted]", read.Key.String())
	require.Equal(t, "{[redacted]}", fmt.Sprint(read))
	b, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, `{"Key":"[redacted]"}`, string(b))
	require.Empty(t, Secret{}.Reveal())

	err = json.Unmarshal([]byte(`{"Key":["`+testCredential+`"]}`), &read)
	require.ErrorContains(t, err, "must be a JSON string")
	require.NotContains(t, err.Error(), testCredential)
}
