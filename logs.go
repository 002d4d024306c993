package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/loosetime"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
)

// LogEntry is one line of the log of an export, a run or a file download.
type LogEntry struct {
	Timestamp   time.Time `json:"timestamp"` // UTC, to the microsecond
	Level       LogLevel  `json:"level"`
	Message     string    `json:"message"`
	InstanceID  string    `json:"instance_id"`   // the service's workflow, not the run's id
	LogSourceID string    `json:"log_source_id"` // the export
}

func (e *LogEntry) UnmarshalJSON(b []byte) error {
	type plain LogEntry
	var raw struct {
		plain

		Timestamp     loosetime.Time `json:"timestamp"`
		RunID         string         `json:"run_id"`
		BatchExportID string         `json:"batch_export_id"`
	}
	err := json.Unmarshal(b, &raw)
	*e = LogEntry(raw.plain)
	e.Timestamp, e.InstanceID, e.LogSourceID = raw.Timestamp.Time, cmp.Or(e.InstanceID, raw.RunID), cmp.Or(e.LogSourceID, raw.BatchExportID)
	return err
}

func (e *LogEntry) complete() error { return has("time", e.Timestamp) }

// LogLevel is the severity of a log entry.
type LogLevel string

// The known log levels. The service takes other words too, such as the WARN of its documentation.
const (
	LogLevelDebug   LogLevel = "DEBUG"
	LogLevelLog     LogLevel = "LOG"
	LogLevelInfo    LogLevel = "INFO"
	LogLevelWarning LogLevel = "WARNING"
	LogLevelError   LogLevel = "ERROR"
)

var logLevels = []LogLevel{LogLevelDebug, LogLevelLog, LogLevelInfo, LogLevelWarning, LogLevelError}

// LogPage holds the newest of the selected log entries, newest first. The service gives neither a link to the
// next page nor a count of all entries: ask again with Before, or walk them all with AllLogs.
type LogPage struct {
	Results []LogEntry `json:"results"`
}

func (p *LogPage) decodeRows(ctx context.Context, body []byte) (err error) {
	if bytes.HasPrefix(body, []byte("[")) {
		body = slices.Concat([]byte(`{"results":`), body, []byte("}"))
	}
	p.Results, err = rowsOf[LogEntry](ctx, body, "results", nil)
	return err
}

func (p *LogPage) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, &p.Results)
	}
	type plain LogPage
	return json.Unmarshal(b, (*plain)(p))
}

// LogOptions selects log entries.
type LogOptions struct {
	Limit      int        // entries a page, 1 to 500; 0 is the service's default of 50, and 500 for AllLogs
	After      time.Time  // only entries later than this; zero for all that the service keeps, of 90 days
	Before     time.Time  // only entries earlier than this; zero for all
	Levels     []LogLevel // only these; empty for all
	Search     string     // only messages that contain this, in any case
	InstanceID string     // only entries of this workflow
	MaxPages   int        // for AllLogs: a walk over more pages is an error; 0 means 10,000
}

const maxLogs = 500 // entries that the service puts on one page

func (o LogOptions) check() *InputError {
	refusal := cmp.Or(
		outgoing.Within("Limit", o.Limit, 1, maxLogs),
		outgoing.Reversed("Before", o.Before, "After", o.After),
		outgoing.Negative(map[string]int{"MaxPages": o.MaxPages}),
	)
	for _, level := range o.Levels {
		isOne := level != "" && !strings.Contains(string(level), ",")
		refusal = cmp.Or(refusal, outgoing.If(!isOne, "Levels", string(level), "one level per element, such as ERROR"),
			outgoing.Misspelt("Levels", level, logLevels))
	}
	return refusal
}

func (o LogOptions) set(q url.Values) {
	outgoing.SetNumber(q, "limit", o.Limit)
	q.Set("after", farPast) // without it, servers since August 2026 look back 7 days only
	outgoing.SetTime(q, "after", o.After)
	outgoing.SetTime(q, "before", o.Before)
	outgoing.SetList(q, "level", o.Levels)
	outgoing.SetText(q, "search", unlikely.Replace(o.Search))
	outgoing.SetText(q, "instance_id", o.InstanceID)
}

// unlikely escapes the wildcards of LIKE, which the service knows in a search.
var unlikely = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// logs fetches one page of a log. It adds the options to the query of r, the endpoint.
func (c *Client) logs(ctx context.Context, r request, o *LogOptions, options ...CallOption) (*LogPage, error) {
	selected := outgoing.OrDefault(o)
	query := url.Values{}
	maps.Copy(query, r.query)
	selected.set(query)
	r.lenient = true
	return ask[LogPage](ctx, c, r.refuse(selected.check()).with(query), options)
}

func (c *Client) allLogs(ctx context.Context, r request, o *LogOptions, options ...CallOption) iter.Seq2[LogEntry, error] {
	selected := outgoing.OrDefault(o)
	selected.Limit = cmp.Or(selected.Limit, maxLogs)
	return pages.Log[LogEntry]{
		Fetch: func(before time.Time) ([]LogEntry, error) {
			older := selected
			older.Before = before
			p, err := c.logs(ctx, r, &older, options...)
			return outgoing.OrDefault(p).Results, err
		},
		Mark: (*LogEntry).mark,
		Failed: func(page int, before time.Time, err error) error {
			return walkError(PageError{Op: r.op.Name, Page: page, Before: before, Err: err})
		},
		After: selected.After, Before: selected.Before, Limit: selected.Limit, MaxPages: selected.MaxPages,
	}.All()
}

// mark returns the fields that tell entries apart, which are all of them.
func (e *LogEntry) mark() pages.Mark {
	return pages.NewMark(e.Timestamp, string(e.Level), e.Message, e.InstanceID, e.LogSourceID)
}
