package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

type cell struct{ day, name string }

// compare counts the events of both projects until they agree, or the time to wait is over.
func (t *transfer) compare(ctx context.Context) error {
	pause, until := time.Minute, time.Now().Add(t.wait)
	for {
		from, err := t.count(ctx, t.from)
		if err != nil {
			return fmt.Errorf("counting in the first project: %w", err)
		}
		to, err := t.count(ctx, t.to)
		if err != nil {
			return fmt.Errorf("counting in the second project: %w", err)
		}
		different := differences(from, to)
		if len(different) == 0 {
			fmt.Fprintf(t.out, "Both projects have the same %d events of these days.\n", total(from))
			return nil
		}
		fmt.Fprintf(t.out, "%d events in the first project, %d in the second one:\n", total(from), total(to))
		for _, line := range different[:min(len(different), 10)] {
			fmt.Fprintln(t.out, line)
		}
		if time.Now().Add(pause).After(until) {
			const advice = "the projects differ on %d days and names; hours later the same command compares again"
			return fmt.Errorf(advice, len(different))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, 30*time.Minute)
	}
}

const countEvents = `SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day,
  event AS event_name, uniqExact(uuid) AS uuids
FROM events
WHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})
GROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000`

// count counts the events of a project by day and name, a week at a time.
func (t *transfer) count(ctx context.Context, client *hogapi.Client) (map[cell]int64, error) {
	counts := map[cell]int64{}
	for begin := t.begin; begin.Before(t.end); begin = begin.Add(longest) {
		query := hogapi.Query{HogQL: countEvents, Values: map[string]any{
			"start_at": begin.Format(time.RFC3339), "end_at": earlier(begin.Add(longest), t.end).Format(time.RFC3339),
		}}
		var answer struct{ Results [][]any }
		err := client.Do(ctx, hogapi.Request{
			Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe,
			Body: map[string]any{"query": query, "refresh": "force_blocking"},
		}, &answer)
		if err != nil {
			return nil, err
		}
		if len(answer.Results) >= 50_000 {
			return nil, errors.New("there are more days and names than one answer has")
		}
		for _, row := range answer.Results {
			var n float64
			isCount := len(row) == 3
			if isCount {
				n, isCount = row[2].(float64)
			}
			if !isCount {
				return nil, fmt.Errorf("a row of %d columns is not a day, a name and a count", len(row))
			}
			counts[cell{fmt.Sprint(row[0]), fmt.Sprint(row[1])}] += int64(n)
		}
	}
	return counts, nil
}

// differences returns a line for each cell in which the projects differ.
func differences(from, to map[cell]int64) (list []string) {
	cells := maps.Clone(from)
	maps.Copy(cells, to)
	for c := range cells {
		if from[c] != to[c] {
			name := strings.ToValidUTF8(c.name, "?")
			list = append(list, fmt.Sprintf("  %s %s: %d in the first, %d in the second", c.day, name, from[c], to[c]))
		}
	}
	slices.Sort(list)
	return list
}

func total(counts map[cell]int64) (n int64) {
	for _, count := range counts {
		n += count
	}
	return n
}
