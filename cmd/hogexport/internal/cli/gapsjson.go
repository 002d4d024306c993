package cli

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
)

// printed is an export as gaps --json prints it: docs/recipes/exports.md has the fields.
type printed struct {
	ExportID    uuid.UUID           `json:"export_id"`
	Name        string              `json:"name"`
	Model       hogapi.Model        `json:"model"`
	Destination string              `json:"destination"`
	Interval    string              `json:"interval"`
	From        time.Time           `json:"from"`
	CheckedAt   time.Time           `json:"checked_at"`
	IsExported  bool                `json:"is_exported"` // each interval, except those that are known
	Verdict     string              `json:"verdict"`
	Gaps        []printedGap        `json:"gaps"`
	Accepted    []acceptance        `json:"accepted"`
	Notes       []string            `json:"notes"`
	Intervals   []coverage.Interval `json:"intervals,omitempty"` // with --intervals
}

type printedGap struct {
	Start     time.Time        `json:"start"`
	End       time.Time        `json:"end"`
	Intervals int              `json:"intervals"`
	States    []coverage.State `json:"states"`
	Known     string           `json:"known,omitempty"` // the reason of --accept: it does not count
}

func (g *gaps) printJSON(all []judged) error {
	list := []printed{}
	for i := range all {
		j := &all[i]
		p := printed{
			ExportID: j.ExportID, Name: j.Name, Model: j.Model, Destination: string(j.Destination), Interval: string(j.Interval), From: j.From, CheckedAt: j.CheckedAt,
			IsExported: len(j.open) == 0 && j.IsExported(), Verdict: j.verdict(), Gaps: []printedGap{}, Accepted: j.Accepted, Notes: append([]string{}, j.Notes...),
		}
		for _, x := range pieces(j.Coverage, j.known) {
			gap := printedGap{Start: x.Start, End: x.End, Intervals: x.Intervals, States: x.States}
			if x.by != nil {
				gap.Known = x.by.Reason
			}
			p.Gaps = append(p.Gaps, gap)
		}
		if g.intervals {
			p.Intervals = j.Intervals
		}
		list = append(list, p)
	}
	return json.NewEncoder(g.Out).Encode(list)
}

// before returns the part of a coverage before a time.
func before(c *coverage.Coverage, to time.Time) *coverage.Coverage {
	if to.IsZero() {
		return c
	}
	part := *c
	part.Intervals = nil
	for _, x := range c.Intervals {
		if x.Start.Before(to) {
			part.Intervals = append(part.Intervals, x)
		}
	}
	return &part
}
