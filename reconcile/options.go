package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Options are the options of [Compare] and [PlanFor].
type Options struct {
	// From is the beginning of the compared timestamps. It is required.
	From time.Time
	// To is their end, not included. The default is the beginning of the comparison less Margin. From and To count in
	// whole hours; the default is rounded down.
	To time.Time
	// Exports are all batch exports that write into the destination: rows are judged by the union of their times and
	// filters. By default one export without a filter has sent all rows so far.
	Exports []Export
	// Margin is the time that a row may take from its arrival at the service to the destination, after the end of its
	// interval. The default is 1 h.
	Margin time.Duration
	// MaxQueries bounds the questions to each side. Rows that no question is left for are CannotTell. The default is
	// 10,000.
	MaxQueries int
	// MaxFindings bounds the rows that are named. Each takes some 500 bytes of memory. Further ones are CannotTell. The
	// default is 200,000.
	MaxFindings int
	// MaxBytesRead bounds the bytes that the queries of one Compare may read from each project. Compare ends with
	// [ErrMaxBytesRead] before a query that would exceed it. With Dir, another Compare continues; without it, another
	// one begins again. By default, only the budget of the project is a limit.
	MaxBytesRead int64
	// Dir is a folder for the answers of the sides. A comparison that was killed continues from there for a day; a
	// finished one is not used again. One comparison at a time owns it. By default nothing is kept.
	Dir string
	// OnProgress is called before each question to a side.
	OnProgress func(Progress)

	now        func() time.Time
	listDays   int64 // the largest day that is listed without looking at its hours
	listHours  int64 // the largest hour that is listed without slices
	listRows   int64 // rows that one list is asked for
	maxRows    int   // rows of an answer
	windowRows int64 // rows that one digest reads
	lookUp     int   // uuids of a question
}

// Progress is the progress of a comparison.
type Progress struct {
	Side    string `json:"side"`    // that is asked next
	Step    string `json:"step"`    // such as "days" or "list"
	Queries int    `json:"queries"` // so far, to this side
	Done    int    `json:"done"`    // of Total, in this step
	Total   int    `json:"total"`
}

// String describes the progress in a line.
func (p Progress) String() string {
	return fmt.Sprintf("%s: %s, %d of %d (%d queries)", p.Side, p.Step, p.Done, p.Total, p.Queries)
}

// Defaults and limits.
const (
	defaultMargin      = time.Hour
	defaultMaxQueries  = 10_000
	defaultMaxFindings = 200_000
	longestWindow      = 366 * 24 * time.Hour
	maxParts           = 200 // of a question
)

func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.Margin = cmp.Or(c.Margin, defaultMargin)
	c.MaxQueries = cmp.Or(c.MaxQueries, defaultMaxQueries)
	c.MaxFindings = cmp.Or(c.MaxFindings, defaultMaxFindings)
	c.listDays = cmp.Or(c.listDays, 1_000)
	c.listHours = cmp.Or(c.listHours, 5_000)
	c.listRows = cmp.Or(c.listRows, 20_000)
	c.maxRows = cmp.Or(c.maxRows, 50_000)
	c.windowRows = cmp.Or(c.windowRows, 12_000_000)
	c.lookUp = cmp.Or(c.lookUp, 1_000)
	switch {
	case c.From.IsZero():
		return c, errors.New("reconcile: Options.From is missing: give the beginning of the time to compare")
	case !c.From.Equal(c.From.Truncate(time.Hour)) || !c.To.Equal(c.To.Truncate(time.Hour)):
		return c, errors.New("reconcile: Options.From and To: give whole hours in UTC")
	case !c.To.IsZero() && !c.From.Before(c.To):
		return c, errors.New("reconcile: Options.To is not after From: give a later time")
	case c.Margin < 0 || c.MaxQueries < 0 || c.MaxFindings < 0 || c.MaxBytesRead < 0:
		return c, errors.New("reconcile: Options.Margin, MaxQueries, MaxFindings or MaxBytesRead is negative: give a positive value, or 0 for the default")
	}
	c.From, c.To = c.From.UTC(), c.To.UTC()
	return c, nil
}
