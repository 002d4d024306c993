package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
)

// dayCount is how many rows of an import a project has on a day of UTC.
type dayCount struct {
	Day    string `json:"day"`
	Events int64  `json:"events"`
}

// fromImport is the part of a query that takes the events of an import, with the values of allTimeOf.
const fromImport = "FROM events\n" +
	"WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})\n"

func allTimeOf(importID string) map[string]any {
	return map[string]any{"job_id": importID, "start_at": "1900-01-01T00:00:00Z", "end_at": "2300-01-01T00:00:00Z"}
}

const countImport = "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, count() AS copies\n" + fromImport +
	"GROUP BY utc_day ORDER BY utc_day LIMIT 50000"

func daysOf(ctx context.Context, client *hogapi.Client, importID string) (days []dayCount, err error) {
	query := hogapi.Query{HogQL: countImport, Values: allTimeOf(importID)}
	rows, err := rowsOf(ctx, client, query, "hogimport: the events of an import by day")
	for _, row := range rows {
		n, isNumber := row[len(row)-1].(float64)
		if len(row) != 2 || !isNumber {
			return nil, fmt.Errorf("a row of %d columns is not a day and a count", len(row))
		}
		days = append(days, dayCount{fmt.Sprint(row[0]), int64(n)})
	}
	return days, err
}

// rowsOf returns the rows that answer a query. No row is empty.
func rowsOf(ctx context.Context, client *hogapi.Client, query hogapi.Query, name string) ([][]any, error) {
	var answer struct {
		Results  [][]any
		HasMore  bool `json:"hasMore"`
		IsCached bool `json:"is_cached"`
	}
	err := client.Do(ctx, hogapi.Request{
		Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe,
		Body: map[string]any{"query": query, "refresh": "force_blocking", "name": name},
	}, &answer)
	if answer.HasMore || answer.IsCached {
		return nil, errors.New("the answer to a query lacks rows, or is an older one")
	}
	for _, row := range answer.Results {
		if len(row) == 0 {
			return nil, errors.New("the answer to a query has a row without columns")
		}
	}
	return answer.Results, err
}

func daysTable(b *bytes.Buffer, rows []dayCount) {
	const most = 31
	var names []string
	totals := map[string]int64{}
	add := func(cut int) {
		names, totals = nil, map[string]int64{}
		for _, row := range rows {
			name := row.Day[:min(cut, len(row.Day))]
			if _, known := totals[name]; !known {
				names = append(names, name)
			}
			totals[name] += row.Events
		}
	}
	for _, form := range []string{time.DateOnly, "2006-01", "2006"} {
		if add(len(form)); len(names) <= most {
			break
		}
	}
	for _, name := range names {
		shown := name
		if name == "" {
			shown = "all days"
		}
		fmt.Fprintf(b, "  %-10s  %15s\n", shown, page.Count(totals[name]))
	}
}
