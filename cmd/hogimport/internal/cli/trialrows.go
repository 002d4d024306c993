package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/queries"
)

// storedRow is a record of a trial, and the event as the project has stored it.
type storedRow struct {
	UUID       string          `json:"uuid"`
	Place      string          `json:"place"`
	Record     string          `json:"record"` // its beginning
	Sent       storedEvent     `json:"sent"`
	Stored     *storedEvent    `json:"stored,omitempty"`   // nil: it is not there
	Rejected   string          `json:"rejected,omitempty"` // why it was not sent
	Properties json.RawMessage `json:"properties,omitempty"`
}

// storedEvent returns the fields of an event that are compared.
type storedEvent struct {
	Event      string    `json:"event"`
	DistinctID string    `json:"distinct_id"`
	Time       time.Time `json:"time"`
}

func (e storedEvent) String() string {
	return fmt.Sprintf("%s · %s · %s", e.Time.UTC().Format("2006-01-02 15:04:05 UTC"), pages.Shown(e.Event), pages.Shown(e.DistinctID))
}

// isAsSent reports whether an event is stored as it was sent. The service keeps times to the millisecond or
// better.
func (r *storedRow) isAsSent() bool {
	return r.Stored != nil && r.Stored.Event == r.Sent.Event && r.Stored.DistinctID == r.Sent.DistinctID &&
		r.Stored.Time.Sub(r.Sent.Time).Abs() < time.Millisecond
}

// chosen returns the events of a sample that are shown: one from each tenth of its time, if possible with a
// name that is not shown yet.
func chosen(sample []taken) []taken {
	const most = 10
	sample = slices.Clone(sample)
	slices.SortStableFunc(sample, func(a, b taken) int { return a.sent.Time.Compare(b.sent.Time) })
	if len(sample) <= most {
		return sample
	}
	var list []taken
	names := map[string]bool{}
	for k := range most {
		part := sample[k*len(sample)/most : (k+1)*len(sample)/most]
		i := max(0, slices.IndexFunc(part, func(e taken) bool { return !names[e.sent.Event] }))
		names[part[i].sent.Event] = true
		list = append(list, part[i])
	}
	return list
}

func (t *trial) stored(ctx context.Context, client *hogapi.Client, importID string, list []taken) ([]storedRow, error) {
	rows := make([]storedRow, len(list))
	paths := t.in.paths()
	place := map[string]int{}
	values := allTimeOf(importID)
	var names []string
	for i, e := range list {
		rows[i] = storedRow{UUID: e.uuid.String(), Place: placeText(paths, e.place), Record: e.raw, Sent: e.sent}
		place[rows[i].UUID] = i
		name := fmt.Sprintf("uuid_%d", i)
		values[name] = rows[i].UUID
		names = append(names, "{"+name+"}")
	}
	if len(rows) == 0 {
		return nil, nil
	}
	query := queries.Query{Values: values, HogQL: "SELECT toString(uuid) AS uuid_text, event, distinct_id, " +
		"toTimeZone(timestamp, 'UTC') AS utc_time, properties\n" + fromImport +
		"AND toString(uuid) IN (" + strings.Join(names, ", ") + ") LIMIT 1000"}
	asker, err := bridge.Asker(client, "hogimport: events of a trial")
	if err != nil {
		return nil, err
	}
	answer, err := queries.Ask[[]any](ctx, asker, query, 1_001)
	for _, row := range answer {
		const columns = 5
		if len(row) != columns {
			return rows, fmt.Errorf("a row of %d columns is not an event", len(row))
		}
		i, known := place[fmt.Sprint(row[0])]
		if !known {
			continue
		}
		at, failed := storedTime(fmt.Sprint(row[3]))
		if failed != nil {
			return rows, failed
		}
		rows[i].Stored = &storedEvent{fmt.Sprint(row[1]), fmt.Sprint(row[2]), at}
		if properties, isText := row[4].(string); isText && json.Valid([]byte(properties)) {
			rows[i].Properties = json.RawMessage(properties)
		}
	}
	return rows, err
}

// markRejected notes which events were rejected, and why.
func markRejected(rows []storedRow, rejects string) error {
	file, err := os.Open(rejects)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	reasons := map[string]string{}
	for lines := json.NewDecoder(file); ; {
		var line struct {
			UUID   string
			Reject struct{ Reason string } `json:"$reject"`
		}
		switch err := lines.Decode(&line); {
		case err == io.EOF:
			for i := range rows {
				rows[i].Rejected = reasons[rows[i].UUID]
			}
			return nil
		case err != nil:
			return err
		}
		reasons[line.UUID] = line.Reject.Reason
	}
}

func storedTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", pages.Shown(text))
}
