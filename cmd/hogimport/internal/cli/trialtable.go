package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
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
	return fmt.Sprintf("%s · %s · %s", e.Time.UTC().Format("2006-01-02 15:04:05 UTC"), page.Shown(e.Event), page.Shown(e.DistinctID))
}

// isAsSent reports whether an event is stored as it was sent. The service keeps times to the millisecond or
// better.
func (r *storedRow) isAsSent() bool {
	return r.Stored != nil && r.Stored.Event == r.Sent.Event && r.Stored.DistinctID == r.Sent.DistinctID &&
		r.Stored.Time.Sub(r.Sent.Time).Abs() < time.Millisecond
}

func hasDifferences(rows []storedRow) bool {
	return slices.ContainsFunc(rows, func(r storedRow) bool { return r.Stored != nil && !r.isAsSent() })
}

// chosen returns the events of a sample that are shown: one from each tenth of its time, if possible with a
// name that is not shown yet.
func chosen(sample []taken) []taken {
	const most = 10
	sample = slices.Clone(sample)
	slices.SortStableFunc(sample, func(a, b taken) int { return a.event.Timestamp.Compare(b.event.Timestamp) })
	if len(sample) <= most {
		return sample
	}
	var list []taken
	names := map[string]bool{}
	for k := range most {
		part := sample[k*len(sample)/most : (k+1)*len(sample)/most]
		i := max(0, slices.IndexFunc(part, func(e taken) bool { return !names[e.event.Name] }))
		names[part[i].event.Name] = true
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
		rows[i] = storedRow{UUID: e.uuid.String(), Place: placeText(paths, e.place), Record: e.raw, Sent: storedEvent{e.event.Name, e.event.DistinctID, e.event.Timestamp.UTC()}}
		place[rows[i].UUID] = i
		name := fmt.Sprintf("uuid_%d", i)
		values[name] = rows[i].UUID
		names = append(names, "{"+name+"}")
	}
	if len(rows) == 0 {
		return nil, nil
	}
	query := hogapi.Query{Values: values, HogQL: "SELECT toString(uuid) AS uuid_text, event, distinct_id, " +
		"toTimeZone(timestamp, 'UTC') AS utc_time, properties\n" + fromImport +
		"AND toString(uuid) IN (" + strings.Join(names, ", ") + ") LIMIT 1000"}
	answer, err := rowsOf(ctx, client, query, "hogimport: events of a trial")
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
	return time.Time{}, fmt.Errorf("%q is not a time", page.Shown(text))
}

func (t *trial) write(result *hogapi.Verification, receipt hogapi.Receipt, rows []storedRow) error {
	if t.json {
		return json.NewEncoder(t.stdout).Encode(map[string]any{"verification": result, "receipt": receipt, "rows": rows})
	}
	fmt.Fprintf(t.stdout, "%-16s  %s\n%-16s  %s\n%-16s  %s\n", "sent", page.Count(receipt.Acknowledged), "found by uuid", page.Count(result.Seen),
		"rejected", page.Count(receipt.Rejected))
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t.stdout, "\n%s\n", term.Cut(fmt.Sprintf("%d. %s", i+1, page.Shown(r.Place)), t.stdout.Width()))
		line := func(mark, name, text string) {
			fmt.Fprintln(t.stdout, term.Cut(fmt.Sprintf(" %1s %-8s %s", mark, name, text), t.stdout.Width()))
		}
		if r.Record != "" {
			line("", "record", page.Shown(r.Record))
		}
		line("", "sent", r.Sent.String())
		switch {
		case r.Rejected != "":
			line("!", "rejected", page.Shown(r.Rejected))
		case r.Stored == nil:
			line("!", "stored", "not there yet")
		case r.isAsSent():
			line("", "stored", r.Stored.String())
		default:
			line("!", "stored", r.Stored.String())
		}
		if names := propertyNames(r.Properties); len(names) > 0 {
			line("", "", fmt.Sprintf("%d properties: %s", len(names), page.Shown(strings.Join(names, ", "))))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(t.stdout, "\n%s\n\n", term.Flow("Compare: is the time right in UTC, is it the right person, and does PostHog's page of the event show what you expect?"))
	}
	return nil
}

// propertyNames returns the names of the properties that the import has not added.
func propertyNames(raw json.RawMessage) []string {
	var properties map[string]json.RawMessage
	if json.Unmarshal(raw, &properties) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(properties))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"$import_job_id", "$lib_version", "$geoip_disable", "distinct_id", "historical_migration", "analytics_source"}, name)
	})
}
