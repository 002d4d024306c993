package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
)

// Notes taken while a line is read replace a second reading of the properties, for any properties.
func FuzzNotedProperties(f *testing.F) {
	for _, properties := range []string{
		`{}`, `null`, `{"a":1}`, ` { "distinct_id" : "ann" , "$lib":"web"}`, `{"a":1,"a":2}`, `{"$set":{"x":1},"$set_once":{}}`, `{"\u0024set":1}`,
		`{"a":{"$lib":"x"}}`, `[1]`, `{"distinct_id":7,"$geoip_disable":false}`, `{"$process_person_profile":"no"}`, `{"a":"\ud800"}`,
		`{"$heatmap_data":1,"$session_id":"x"}`, `{"$current_url":"u","$prev_pageview_pathname":"/"}`, `{"$groups":{"a":1},"$unset":[]}`, `{"$window_id":7,"$import_job_id":"x"}`,
	} {
		f.Add([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`}`), uint8(0))
		f.Add([]byte(`{"event":"$set","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`,"$set":{}}`), uint8(wire.PersonPolicyStrip))
	}
	f.Fuzz(func(t *testing.T, line []byte, policy uint8) {
		o := wire.Rules{PersonPolicy: wire.PersonPolicy(policy % 3), StripHeatmaps: policy/3%2 == 1}
		trusting, doubting := testEncoder(o), testEncoder(o)
		parser := newParser()
		for range 2 { // no note of an earlier event may remain
			fields, err := parser.Parse(line)
			if err != nil {
				return
			}
			got, gotRefusal := trusting.Encode(fields)
			fields.Noted = nil
			want, wantRefusal := doubting.Encode(fields)
			require.Equal(t, wantRefusal, gotRefusal)
			require.Equal(t, string(want.Wire), string(got.Wire))
			require.Equal(t, want.Warnings, got.Warnings)
		}
	})
}
