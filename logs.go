package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/loosetime"
	"github.com/hogapi/hogapi/internal/mask"
)

// LogEntry is one line of the log of an export or a run.
type LogEntry struct {
	Timestamp   time.Time `json:"timestamp"` // UTC, to the microsecond
	Level       LogLevel  `json:"level"`
	Message     string    `json:"message"`
	InstanceID  string    `json:"instance_id"`   // the service's workflow, which is not the run's id
	LogSourceID string    `json:"log_source_id"` // the export
}

// UnmarshalJSON also reads the keys of older servers, and times without a zone, which are UTC.
func (e *LogEntry) UnmarshalJSON(b []byte) error {
	var raw struct {
		Timestamp     loosetime.Time `json:"timestamp"`
		Level         LogLevel       `json:"level"`
		Message       string         `json:"message"`
		InstanceID    string         `json:"instance_id"`
		LogSourceID   string         `json:"log_source_id"`
		RunID         string         `json:"run_id"`
		BatchExportID string         `json:"batch_export_id"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*e = LogEntry{
		Timestamp: raw.Timestamp.Time, Level: raw.Level, Message: raw.Message,
		InstanceID: raw.InstanceID, LogSourceID: raw.LogSourceID,
	}
	if e.InstanceID == "" {
		e.InstanceID = raw.RunID
	}
	if e.LogSourceID == "" {
		e.LogSourceID = raw.BatchExportID
	}
	return nil
}

func (e *LogEntry) complete() error {
	if e.Timestamp.IsZero() {
		return errors.New("it has no time")
	}
	return nil
}

// LogLevel is the severity of a log entry. The service may send values that this package does not
// know.
type LogLevel string

// The known log levels.
const (
	LogLevelDebug   LogLevel = "DEBUG"
	LogLevelLog     LogLevel = "LOG"
	LogLevelInfo    LogLevel = "INFO"
	LogLevelWarning LogLevel = "WARNING"
	LogLevelError   LogLevel = "ERROR"
)

var logLevels = []LogLevel{LogLevelDebug, LogLevelLog, LogLevelInfo, LogLevelWarning, LogLevelError}

// LogPage is the newest log entries of those asked for, newest first. The service gives neither a
// link to the next page nor a count of all entries: ask again with Before, or walk them all with
// AllLogs.
type LogPage struct {
	Results []LogEntry `json:"results"`
}

func (p *LogPage) decodeRows(ctx context.Context, body []byte) (err error) {
	if !bytes.HasPrefix(body, []byte("[")) {
		p.Results, err = rowsOf[LogEntry](ctx, body, "results", nil)
		return err
	}
	p.Results, err = httptry.List(ctx, body, isComplete[LogEntry])
	return err
}

// UnmarshalJSON also reads a bare list.
func (p *LogPage) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, &p.Results)
	}
	type plain LogPage
	return json.Unmarshal(b, (*plain)(p))
}

// LogOptions select log entries.
type LogOptions struct {
	Limit      int        // entries a page, 1 to 500; 0 is the service's default of 50, and 500 for AllLogs
	After      time.Time  // only entries later than this; zero for all
	Before     time.Time  // only entries earlier than this; zero for all
	Levels     []LogLevel // only these; none for all
	Search     string     // only messages that contain this, whatever the case
	InstanceID string     // only entries of this workflow
	MaxPages   int        // for AllLogs: a walk over more pages is an error; 0 means 10,000
}

const mostLogs = 500 // entries that the service puts on one page

func (o LogOptions) check(op Op) error {
	if o.Limit < 0 || o.Limit > mostLogs {
		return &InputError{Op: op, Field: "Limit", Value: strconv.Itoa(o.Limit), Want: "1 to 500, or 0 for the default"}
	}
	if !o.After.IsZero() && !o.Before.IsZero() && !o.After.Before(o.Before) {
		return &InputError{
			Op: op, Field: "Before", Value: formatTime(o.Before), Want: "later than After, which is " + formatTime(o.After),
		}
	}
	for _, level := range o.Levels {
		if level == "" || strings.Contains(string(level), ",") {
			return &InputError{
				Op: op, Field: "Levels", Value: mask.UnlessKey(string(level)), Want: "one level per element, such as ERROR",
			}
		}
		if err := checkSpelling(op, "Levels", level, logLevels); err != nil {
			return err
		}
	}
	return firstNegative(op, map[string]int{"MaxPages": o.MaxPages})
}

// set puts the options into a call's query.
func (o LogOptions) set(q url.Values) {
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	setTime(q, "after", o.After)
	setTime(q, "before", o.Before)
	if len(o.Levels) > 0 {
		levels := make([]string, len(o.Levels))
		for i, level := range o.Levels {
			levels[i] = string(level)
		}
		q.Set("level", strings.Join(levels, ","))
	}
	setText(q, "search", o.Search)
	setText(q, "instance_id", o.InstanceID)
}

// logs fetches one page of a log: r is the endpoint, whose own query the options are added to.
func (c *Client) logs(ctx context.Context, r request, o *LogOptions, options ...CallOption) (*LogPage, error) {
	selected := orDefault(o)
	query := url.Values{}
	maps.Copy(query, r.query)
	selected.set(query)
	r.lenient = true
	return fetch[LogPage](ctx, c, r.refuse(selected.check(r.op.name)).with(query), options)
}

// allLogs walks a log from the newest entry to the oldest, by Before.
func (c *Client) allLogs(
	ctx context.Context, r request, o *LogOptions, options ...CallOption,
) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		w := newLogWalk(r.op.name, orDefault(o))
		for n := 1; ; n++ {
			fresh, err := w.step(n, func(o LogOptions) (*LogPage, error) { return c.logs(ctx, r, &o, options...) })
			for _, entry := range fresh {
				if !yield(entry, nil) {
					return
				}
			}
			if err != nil {
				yield(LogEntry{}, w.failed(n, err))
				return
			}
			if len(fresh) == 0 {
				return
			}
		}
	}
}

// logWalk is the state of one walk. Several entries may share the time at which a page ends, so the
// next page begins with that time again, and the entries that were there already are left out.
type logWalk struct {
	op   Op
	o    LogOptions
	seen map[sum256]int // how often each entry of the time at the border was shown
	most int            // entries on the fullest page so far: the server may have a limit of its own
}

func (e *LogEntry) digest() sum256 {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d ", e.Timestamp.UnixNano())
	for _, part := range []string{string(e.Level), e.Message, e.InstanceID, e.LogSourceID} {
		_, _ = fmt.Fprintf(h, "%d ", len(part))
		_, _ = io.WriteString(h, part)
	}
	return sum256(h.Sum(nil))
}

// mostAtOneTime bounds the entries of one time that a walk remembers.
const mostAtOneTime = 10_000

var errIgnoredBefore = errors.New("the service ignores Before: it gave entries that are not earlier")

// logTick is the resolution of the service's log times.
const logTick = time.Microsecond

func newLogWalk(op Op, o LogOptions) *logWalk {
	if o.Limit == 0 {
		o.Limit = mostLogs
	}
	return &logWalk{op: op, o: o}
}

// step fetches the n-th page and returns what is new on it. A page with nothing new is the end. A
// short one is not, since a server may have a lower limit of its own.
func (w *logWalk) step(n int, fetch func(LogOptions) (*LogPage, error)) ([]LogEntry, error) {
	p, err := fetch(w.o)
	if err != nil {
		return nil, err
	}
	if p.Results == nil && n > 1 {
		return nil, errors.New("the answer is empty, although entries came before it")
	}
	digests := make([]sum256, len(p.Results))
	for i := range p.Results {
		digests[i] = p.Results[i].digest()
	}
	fresh, err := w.fresh(p.Results, digests)
	if err != nil {
		return nil, err
	}
	switch {
	case len(fresh) > 0 && n > cmp.Or(w.o.MaxPages, defaultMaxPages):
		return nil, errPageLimit
	case len(fresh) == 0 && len(p.Results) > 0 && len(p.Results) >= w.most:
		return nil, w.endsHere(len(p.Results), fetch)
	}
	w.most = max(w.most, len(p.Results))
	w.move(p.Results, digests)
	if len(w.seen) > mostAtOneTime {
		return fresh, tooManyAtOnce(len(w.seen))
	}
	return fresh, nil
}

func tooManyAtOnce(entries int) error {
	return fmt.Errorf("%d entries or more have the same time, so those after them cannot be reached; "+
		"select by Levels or Search, or continue with an earlier Before", entries)
}

// endsHere tells the end of a log from a full page of one time, with older entries after it. The
// server's own limit is not known, so it asks for them.
func (w *logWalk) endsHere(entries int, fetch func(LogOptions) (*LogPage, error)) error {
	older, full := w.o, entries >= w.o.Limit
	older.Before = w.o.Before.Add(-logTick)
	if !full && w.o.After.Before(older.Before) {
		p, err := fetch(older)
		if err != nil {
			return err
		}
		full = len(p.Results) > 0
	}
	if full {
		return tooManyAtOnce(entries)
	}
	return nil
}

// fresh leaves out what the pages before have shown.
func (w *logWalk) fresh(entries []LogEntry, digests []sum256) ([]LogEntry, error) {
	var fresh []LogEntry
	left := maps.Clone(w.seen)
	for i, e := range entries {
		switch {
		case !w.o.Before.IsZero() && !e.Timestamp.Before(w.o.Before):
			return nil, errIgnoredBefore
		case left[digests[i]] > 0:
			left[digests[i]]--
		default:
			fresh = append(fresh, e)
		}
	}
	return fresh, nil
}

// move lets the next page begin with the oldest time of this one, that time included.
func (w *logWalk) move(entries []LogEntry, digests []sum256) {
	if len(entries) == 0 {
		return
	}
	last := slices.MinFunc(entries, func(a, b LogEntry) int { return a.Timestamp.Compare(b.Timestamp) })
	oldest := last.Timestamp.Truncate(logTick)
	if before := oldest.Add(logTick); !before.Equal(w.o.Before) {
		w.o.Before, w.seen = before, nil
	}
	shown := map[sum256]int{}
	for i, e := range entries {
		if !e.Timestamp.Before(oldest) {
			shown[digests[i]]++
		}
	}
	for e, n := range w.seen {
		shown[e] = max(shown[e], n)
	}
	w.seen = shown
}

// failed says how to continue: with the Before of the error, which shows the entries of that
// microsecond again.
func (w *logWalk) failed(n int, err error) error {
	if _, ok := errors.AsType[*InputError](err); ok {
		return err
	}
	return &PageError{Op: w.op, Page: n, Before: w.o.Before, Err: err}
}
