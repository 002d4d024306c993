package formats_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
)

// tablesWithNulls are a table of each format, with a record that has N where a database has no value.
var tablesWithNulls = map[string]struct {
	format func(mapping int) history.Format
	text   string
	id     string // of the person
}{
	"segment-warehouse": {func(m int) history.Format {
		return warehouse.Segment(&segment.Options{Mapping: m}, &warehouse.Options{Table: "tracks"})
	},
		"id,anonymous_id,user_id,event_text,timestamp,received_at,context_campaign_source\nm1,an1,N,Order Paid,2023-05-01 10:00:00.000,2023-05-01 10:00:00.000,N\n", "an1"},
	"amplitude-warehouse": {func(m int) history.Format { return warehouse.Amplitude(&amplitude.Options{Mapping: m}, nil) },
		"uuid,event_type,event_time,device_id,user_id,city\n7d9a3f52-8c1e-4b06-9f47-51c2e0b8d3a6,Order Paid,2023-05-01 10:00:00.000,an1,N,N\n", "an1"},
	"heap": {func(m int) history.Format { return heap.Format(&heap.Options{Mapping: m}) },
		"event_id,user_id,session_id,time,path,referrer\n1,8001,2,2023-05-01 10:00:00,/,N\n", "8001"},
	"heap's users": {func(m int) history.Format { return heap.Format(&heap.Options{Mapping: m}) },
		"user_id,identity,_email,joindate\n8001,N,N,2023-05-01 10:00:00\n", ""},
	"umami": {func(m int) history.Format { return umami.Format(&umami.Options{Mapping: m}) },
		"event_id,session_id,visit_id,website_id,created_at,url_path,event_type,utm_source,distinct_id,hostname\n7d9a3f52-8c1e-4b06-9f47-51c2e0b8d3a6,an1,v1,w1,2023-05-01 10:00:00,/,1,N,N,N\n", "an1"},
	"pendo": {func(m int) history.Format { return pendo.Format(&pendo.Options{Mapping: m}) },
		"visitor_id,type,guide_id,browser_timestamp,account_id,country\nan1,guideSeen,g1,1682935200000,N,N\n", "an1"},
	"ga4-warehouse": {func(m int) history.Format { return warehouse.GA4(&ga4.Options{Mapping: m}, nil) },
		"_fivetran_id,name,timestamp,user_id,user_pseudo_id,device_category\nf1,Order Paid,2023-05-01 10:00:00,N,an1,N\n", "an1"},
	"snowplow": {func(m int) history.Format { return snowplow.Format(&snowplow.Options{Mapping: m, HasNames: true}) },
		"event,event_name,event_id,collector_tstamp,user_id,domain_userid,mkt_source\nunstruct,Order Paid,1,2023-05-01 10:00:00,N,an1,N\n", "an1"},
	"generic": {func(m int) history.Format {
		f, _ := generic.Format(&generic.Options{Map: []string{"person=user", "person=device", "uuid=id"}, Mapping: m})
		return f
	}, "event,user,device,timestamp,id,plan\nOrder Paid,N,an1,2023-05-01T10:00:00Z,N,N\n", "an1"},
}

func TestNullsOfTablesAreAbsent(t *testing.T) {
	t.Parallel()
	for name, tc := range tablesWithNulls {
		events := func(f history.Format, text string) (events []hogapi.Event) {
			for ev, err := range history.Files(f, write(t, "t.csv", text)).Events(t.Context(), hogapi.Position{}) {
				require.NoError(t, err, name)
				events = append(events, ev)
			}
			return events
		}
		check := func(word, text string) (id uuid.UUID) {
			made := events(tc.format(0), text)
			for _, ev := range made {
				if _, isSkipped := ev.Skipped(); isSkipped || tc.id == "" {
					continue
				}
				assert.Equal(t, tc.id, ev.DistinctID, name+word)
				assert.NotContains(t, string(ev.RawProperties), strings.Trim(word, `"\`), name)
			}
			if tc.id == "" {
				for _, ev := range made {
					assert.NotEqual(t, "$identify", ev.Name, "%s: %s merges no users", name, word)
				}
			}
			was := events(tc.format(formats.OldestMapping), text)
			if _, isSkipped := made[0].Skipped(); !isSkipped && !strings.Contains(text, ",id,") { // the column of the id is not NULL
				require.Equal(t, was[0].UUID, made[0].UUID, name)
				require.Equal(t, was[0].Origin, made[0].Origin, "%s: the uuid does not depend on the mapping", name)
			}
			return made[0].UUID
		}
		for _, word := range []string{`\N`, `"\N"`, "NULL", "null", "[NULL]", "(null)"} {
			check(word, strings.ReplaceAll(tc.text, ",N", ","+word))
		}
		made := events(formats.KeepNulls(tc.format(0)), strings.ReplaceAll(tc.text, ",N", `,\N`))
		was := events(tc.format(formats.OldestMapping), strings.ReplaceAll(tc.text, ",N", `,\N`))
		assert.Equal(t, string(was[0].RawProperties), string(made[0].RawProperties), "%s: a table that means them", name)
		assert.Equal(t, was[0].DistinctID, made[0].DistinctID, name)
	}
}
