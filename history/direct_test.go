package history_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
)

// TestCheckOfAMapSeesOrigins: a check alone needs no digest of a record with a uuid, but a mapping may look at the origin, and
// the further events that it makes have uuids that are derived from it.
func TestCheckOfAMapSeesOrigins(t *testing.T) {
	t.Parallel()
	const records = `{"n":1}` + "\n" + `{"n":2}` + "\n" + `{"n":1}` + "\n"
	format := history.Format{Name: "own", Convert: func(raw []byte) ([]event.Event, error) {
		return []event.Event{{
			Name: "seen", DistinctID: "u1", Timestamp: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC),
			UUID: uuid.NewSHA1(uuid.NameSpaceURL, raw), RawProperties: []byte(`{}`),
		}}, nil
	}}
	source := history.FilesFS(fstest.MapFS{"a.jsonl": {Data: []byte(records)}}, format, "a.jsonl")
	var want, got []string
	for ev, err := range source.Events(context.Background(), event.Position{}) {
		require.NoError(t, err)
		want = append(want, fmt.Sprint(ev.Origin))
	}
	mapped := history.Map(source, func(ev event.Event) ([]event.Event, error) {
		got = append(got, fmt.Sprint(ev.Origin))
		more := ev
		more.Name, more.UUID = "more", uuid.Nil
		return []event.Event{ev, more}, nil
	})
	report, err := history.Check(context.Background(), mapped, &history.Options{ID: "own"})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.EqualValues(t, 6, report.Good)
	assert.EqualValues(t, 2, report.DoubleUUIDs.Count, "the third record is the first again")
	assert.NotContains(t, strings.Join(want, ""), "a.jsonl", "the origin is the record")

	direct, err := history.Check(context.Background(), source, &history.Options{ID: "own"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, direct.Good)
	assert.EqualValues(t, 1, direct.DoubleUUIDs.Count)
}
