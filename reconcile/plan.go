package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Plan is the cost of a comparison, before it starts.
type Plan struct {
	From            time.Time     `json:"from"`
	To              time.Time     `json:"to"` // not included
	ServiceRows     int64         `json:"service_rows"`
	DestinationRows int64         `json:"destination_rows"`
	Queries         int           `json:"queries"` // to each side, if up to some thousand rows differ; more rows need more
	ScannedRows     int64         `json:"scanned_rows"`
	Time            time.Duration `json:"time"` // about, at 500,000 rows a second
}

// String describes the plan in a line.
func (p *Plan) String() string {
	return fmt.Sprintf("%s to %s UTC: %s rows in the service, %s in the destination; about %d queries to each side, %s rows to scan, %v",
		p.From.Format(clock), p.To.Format(clock), number(p.ServiceRows), number(p.DestinationRows), p.Queries, number(p.ScannedRows), p.Time)
}

// PlanFor counts the rows of both sides, with one query a year to each, and returns the cost of Compare with the same
// options. It does not use Options.Dir.
func PlanFor(ctx context.Context, service Service, destination Side, o *Options) (_ *Plan, err error) {
	options, err := o.complete()
	if err != nil {
		return nil, err
	}
	options.Dir = ""
	c, err := newComparison(service, destination, &options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.journal.close()) }()
	rows, err := c.count(ctx)
	if err != nil {
		return nil, err
	}
	windows := c.windowsOf(rows)
	p := &Plan{From: c.From, To: c.To}
	for _, n := range rows[ofService] {
		p.ServiceRows += n
	}
	for _, n := range rows[ofDestination] {
		p.DestinationRows += n
	}
	// Each row is counted, digested, and looked up among; hours and slices are of some days only.
	const passes, levels, perSecond, perQuery = 3, 4, 500_000, 2 * time.Second
	years := int(c.To.Sub(c.From)/longestWindow) + 1
	p.Queries = 2*years + len(windows) + levels
	p.ScannedRows = passes * (p.ServiceRows + p.DestinationRows)
	p.Time = (time.Duration(p.ScannedRows/perSecond)*time.Second + time.Duration(2*p.Queries)*perQuery).Round(time.Second)
	return p, nil
}
