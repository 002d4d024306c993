package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// IngestionWarning says that the service dropped or changed events of one kind on their arrival. There is one
// for each type, category and severity.
type IngestionWarning struct {
	Type      string          `json:"type"` // for example "cannot_merge_already_identified"
	Category  string          `json:"category"`
	Severity  WarningSeverity `json:"severity"`
	Count     int64           `json:"count"` // throttled by the service: it shows that this happened, not how often
	LastSeen  time.Time       `json:"last_seen"`
	Sparkline []WarningCount  `json:"sparkline"` // by hours if the time from Since to Until is at most 2 days, else by days
	Samples   []WarningSample `json:"samples"`
}

func (w *IngestionWarning) complete() error {
	isNegative := func(c WarningCount) bool { return c.Count < 0 }
	if w.Count < 0 || slices.ContainsFunc(w.Sparkline, isNegative) {
		return errors.New("negative count")
	}
	return has("type", w.Type)
}

// WarningCount is the number of warnings in one step of time.
type WarningCount struct {
	Timestamp time.Time `json:"timestamp"`
	Count     int64     `json:"count"`
}

// WarningSample is one case of a warning. Its values come from events: escape them before you show them. A
// field that the warning does not have is nil.
type WarningSample struct {
	Timestamp    time.Time       `json:"timestamp"`     // when the warning was raised, not the event's own time
	Source       *string         `json:"source"`        // such as plugin-server or capture
	PipelineStep *string         `json:"pipeline_step"` // often "unknown"
	EventUUID    *string         `json:"event_uuid"`
	DistinctID   *string         `json:"distinct_id"`
	PersonID     *string         `json:"person_id"`
	GroupKey     *string         `json:"group_key"`
	Details      json.RawMessage `json:"details"`
}

// WarningSeverity is the severity of a warning.
type WarningSeverity string

// The known severities.
const (
	WarningSeverityInfo    WarningSeverity = "info"    // as intended
	WarningSeverityWarning WarningSeverity = "warning" // the event was changed, or taken in part
	WarningSeverityError   WarningSeverity = "error"   // the event was lost
)

var warningSeverities = []WarningSeverity{WarningSeverityInfo, WarningSeverityWarning, WarningSeverityError}

// WarningOrdering is the order of a list of warnings.
type WarningOrdering string

// The orders that the service knows.
const (
	WarningsByCount    WarningOrdering = "count"
	WarningsByLastSeen WarningOrdering = "last_seen"
)

var warningOrderings = []WarningOrdering{WarningsByCount, WarningsByLastSeen}

// IngestionWarningListOptions selects warnings. Zero fields select all.
type IngestionWarningListOptions struct {
	Type     string
	Category string
	Severity WarningSeverity
	Search   string // part of the type or of the details; case matters

	// Since and Until bound the time when the warning was raised: the time of an import, not the time of its
	// events. By default, List returns all warnings that the service keeps, for 90 days: the service's own
	// default, the last 24 hours, is never used.
	Since, Until time.Time

	Ordering WarningOrdering // default: the service's own
	Samples  int             // for each warning, 1 to 50; 0 is the service's default of 5
}

const (
	warningsKept = 90 * 24 * time.Hour
	maxWarnings  = 500 // that one call can list
	maxSamples   = 50
)

func (o IngestionWarningListOptions) check() *InputError {
	return cmp.Or(
		outgoing.MisspeltIfSet("Severity", o.Severity, warningSeverities),
		outgoing.If(o.Ordering != "" && !isKnown(o.Ordering, warningOrderings), "Ordering", string(o.Ordering), "count or last_seen"),
		outgoing.Reversed("Until", o.Until, "Since", o.Since),
		outgoing.Within("Samples", o.Samples, 1, maxSamples),
	)
}

func (o IngestionWarningListOptions) query(now time.Time) url.Values {
	q := url.Values{"limit": {strconv.Itoa(maxWarnings)}}
	outgoing.SetText(q, "type", o.Type)
	outgoing.SetText(q, "category", o.Category)
	outgoing.SetText(q, "severity", string(o.Severity))
	outgoing.SetText(q, "q", o.Search)
	outgoing.SetText(q, "order_by", string(o.Ordering))
	outgoing.SetTime(q, "since", cmp.Or(o.Since, cmp.Or(o.Until, now).Add(-warningsKept)))
	outgoing.SetTime(q, "until", o.Until)
	outgoing.SetNumber(q, "samples", o.Samples)
	return q
}

// IngestionWarningsService reads the warnings that the service raised while it took in events:
// [Client.IngestionWarnings]. Older and self-hosted servers may not have it: calls return [ErrUnsupported].
type IngestionWarningsService service

// ingestionWarnings is the answer of List: an array without pages.
type ingestionWarnings []IngestionWarning

func (w *ingestionWarnings) complete() error {
	if *w == nil {
		return errors.New("not a list")
	}
	return allComplete(*w)
}

// List returns the warnings of a span of time, at most 500: if there may be more, it returns them with [ErrListCut], so
// ask for a shorter time. Events that were dropped over the plan's limit or by a filter, or with an unknown key, have no
// warning: GET /ingestion_warnings_v2/, scope ingestion_warning:read.
func (s *IngestionWarningsService) List(
	ctx context.Context, o *IngestionWarningListOptions, options ...CallOption,
) ([]IngestionWarning, error) {
	selected := outgoing.OrDefault(o)
	r := endpoint(ops.IngestionWarningsList).refuse(selected.check())
	list, err := ask[ingestionWarnings](ctx, s.client, r.with(selected.query(s.client.core.now())), options)
	if err != nil {
		return nil, err
	}
	if len(*list) >= maxWarnings {
		return *list, errtext.Errorf("%s: %v: %d warnings, the service's maximum: narrow Since and Until, Type or Category",
			ops.IngestionWarningsList, ErrListCut, len(*list))
	}
	return *list, nil
}
