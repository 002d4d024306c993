package formats_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
)

// severalEvents are the formats with several events in a record, with records of that many actions.
var severalEvents = map[string]struct {
	formats func(t *testing.T) []history.Format
	record  func(d formattest.Dice) (record map[string]any, actions int)
}{
	"matomo": {
		func(*testing.T) []history.Format {
			return []history.Format{
				matomo.Format(nil), matomo.Format(&matomo.Options{NoGoals: true}), matomo.Format(&matomo.Options{Personless: true, Zone: time.UTC}),
			}
		},
		func(d formattest.Dice) (map[string]any, int) {
			const begin = 1_693_562_400
			visit := map[string]any{"idSite": 1, "idVisit": d.IntN(1000), "firstActionTimestamp": begin, "lastActionTimestamp": begin + 900}
			if d.Percent(80) {
				visit["visitorId"] = fmt.Sprint("v", d.IntN(5))
			}
			actions := []any{}
			for i := range d.IntN(8) {
				a := map[string]any{"type": d.Pick("action", "event", "search", "goal", "outlink", "download", "ecommerceOrder", "form"), "timestamp": begin + 100*i}
				if i == 0 || d.Percent(20) {
					a["timestamp"] = begin
				}
				for _, key := range []string{"pageId", "goalPageId", "pageIdAction", "idpageview"} {
					if d.Percent(50) {
						a[key] = fmt.Sprint(d.IntN(3))
					}
				}
				if actions = append(actions, a); d.Percent(20) {
					actions = append(actions, a)
				}
			}
			if len(actions) > 1 { // the visit ends then
				actions[len(actions)-1] = map[string]any{"type": "action", "timestamp": begin + 900, "pageId": "9"}
			}
			visit["actionDetails"] = actions
			return visit, len(actions)
		},
	},
	"generic": {
		func(t *testing.T) (all []history.Format) {
			for _, skip := range []string{"skip=bot|is:true", "skip=hits.type|is:demo"} {
				f, err := generic.Format(&generic.Options{Map: []string{"[]=hits", "event=hits.type", "person=visitor", "time=hits.at|unix", skip}})
				require.NoError(t, err)
				all = append(all, f)
			}
			return all
		},
		func(d formattest.Dice) (map[string]any, int) {
			hits := []any{}
			for i := range d.IntN(6) {
				hits = append(hits, map[string]any{"type": d.Pick("page", "demo"), "at": 1_693_562_400 + i})
			}
			return map[string]any{"visitor": "v", "bot": d.Percent(20), "hits": hits}, len(hits)
		},
	},
	"mixpanel-people": {
		func(*testing.T) []history.Format {
			return []history.Format{mixpanel.PeopleFormat(nil), mixpanel.PeopleFormat(&mixpanel.PeopleOptions{At: time.Unix(1_693_562_400, 0)})}
		},
		func(d formattest.Dice) (map[string]any, int) {
			results := []any{}
			for range d.IntN(6) {
				properties := map[string]any{"plan": "pro"}
				if d.Percent(70) {
					properties["$last_seen"] = "2023-09-01T10:00:00"
				}
				results = append(results, map[string]any{"$distinct_id": fmt.Sprint("u", d.IntN(9)), "$properties": properties})
			}
			return map[string]any{"results": results}, len(results)
		},
	},
}

// Each action of a record is sent or left out with a reason, or its whole record is rejected.
func TestReadIsSentRejectedAndLeftOut(t *testing.T) {
	t.Parallel()
	for name, several := range severalEvents {
		for i, format := range several.formats(t) {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				t.Parallel()
				dice := formattest.Dice{Rand: rand.New(rand.NewPCG(uint64(i), 48))}
				var records [][]byte
				var sent, rejected, left int64
				for range 400 {
					record, actions := several.record(dice)
					raw, err := json.Marshal(record)
					require.NoError(t, err)
					records = append(records, raw)
					events, err := format.Convert(bytes.Clone(raw))
					skip, isSkip := errors.AsType[*event.SkipError](err)
					switch {
					case isSkip:
						require.LessOrEqual(t, actions, 1, "%s: %s", skip.Reason, raw)
						left++
						continue
					case err != nil:
						rejected++
						continue
					}
					require.Len(t, events, actions, "%s", raw)
					for k := range events {
						if _, isLeft := events[k].Skipped(); isLeft {
							left++
						} else {
							sent++
						}
					}
				}
				report, err := history.Check(t.Context(), history.Files(format, formattest.Write(t, records)), &history.Options{ID: "actions", MaxRejectShare: -1})
				require.NoError(t, err)
				assert.Equal(t, []int64{sent + rejected + left, sent, rejected, left}, []int64{report.Read, report.Good, report.Rejected, report.Skipped}, "%v", report.Reasons)
				assert.Positive(t, sent)
				assert.Positive(t, left)
			})
		}
	}
}
