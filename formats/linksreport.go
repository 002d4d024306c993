package formats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/ops"
)

// LinksReport says which persons the links of a source make.
type LinksReport struct {
	Persons int64            `json:"persons"`           // that have more than one id
	IDs     int64            `json:"ids"`               // of these persons
	Largest []LinkedPerson   `json:"largest,omitempty"` // the ten of them with the most ids
	Left    map[string]int64 `json:"left,omitempty"`    // anonymous ids that are not linked, by reason: SkipSharedDevice, SkipUserDevice, SkipPlaceholder

	Placeholders []LeftOutID `json:"placeholders,omitempty"` // that are not linked, the most frequent first
}

// LeftOutID is a placeholder in place of an id, and how many events have it.
type LeftOutID struct {
	ID     string `json:"id"`
	Events int64  `json:"events"`
}

// LinkedPerson is a person with more than one id.
type LinkedPerson struct {
	ID     string   `json:"id"`     // the id that the others are linked to
	IDs    int64    `json:"ids"`    // how many ids the person has, with this one
	Others []string `json:"others"` // the first others, at most four
}

const (
	maxPersons = 10
	maxOthers  = 4
)

// add counts a person, if it has several ids.
func (r *LinksReport) add(p LinkedPerson) {
	if p.IDs < 2 {
		return
	}
	r.Persons++
	r.IDs += p.IDs
	at := len(r.Largest)
	for at > 0 && r.Largest[at-1].IDs < p.IDs {
		at--
	}
	if at == maxPersons {
		return
	}
	r.Largest = slices.Insert(r.Largest, at, p)
	r.Largest = r.Largest[:min(len(r.Largest), maxPersons)]
}

// tooMany is the error of a person with more ids than are allowed.
func (r *LinksReport) tooMany(most int) error {
	if most < 0 || len(r.Largest) == 0 || r.Largest[0].IDs <= int64(most) {
		return nil
	}
	p := r.Largest[0]
	return &hogapi.InputError{Op: ops.Import, Field: "LinksOptions.MaxIDs", Value: strconv.Itoa(most), Want: fmt.Sprintf(
		"at least %d, if %q is one person of so many ids, such as %s. Merges cannot be undone: if the ids are those of several persons, "+
			"leave out the events that join them, or their AnonymousID", p.IDs, p.ID, quotedAll(p.Others))}
}

// The memory of a process that is not for ids, and the minimum in total.
const (
	memoryOfReading = 48 << 20
	minMemory       = 64 << 20
)

// tooManyIDs is the error of more ids than there is memory for.
func tooManyIDs(n, memory int) error {
	const step = 1 << 20
	needed := (memoryOfReading+n*bytesPerID)/step + 1
	if needed*step <= memory && n < math.MaxInt32 {
		return nil
	}
	return &hogapi.InputError{Op: ops.Import, Field: "LinksOptions.Memory", Value: fmt.Sprint(memory/step, "MiB"), Want: fmt.Sprintf(
		"at least %dMiB, since the source has %d ids", needed, n)}
}

func quotedAll(ids []string) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf("%q", id))
	}
	return strings.Join(parts, ", ")
}

// String returns the report as a text of several lines.
func (r LinksReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d persons come out of more than one id: %d ids", r.Persons, r.IDs)
	for _, p := range r.Largest {
		fmt.Fprintf(&b, "\n  %d ids: %q with %s", p.IDs, p.ID, quotedAll(p.Others))
		if more := p.IDs - 1 - int64(len(p.Others)); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
	}
	for _, id := range r.Placeholders {
		fmt.Fprintf(&b, "\n  %q of %d events is a placeholder", id.ID, id.Events)
	}
	for _, reason := range bySize(r.Left) {
		fmt.Fprintf(&b, "\n%d ids are not linked: %s", r.Left[reason], reason)
	}
	return b.String()
}

// PlanLinks reads a source, sends nothing, and returns the report of the links that [LinksWith] would make. A
// person of more than LinksOptions.MaxIDs ids is a *[hogapi.InputError], which comes with the report.
func PlanLinks(ctx context.Context, source history.Source, options *LinksOptions) (report LinksReport, err error) {
	plan, err := NewLinksPlan(options)
	if err != nil {
		return report, err
	}
	defer func() { err = cmp.Or(err, plan.Close()) }()
	if err := plan.read(ctx, source); err != nil {
		return report, err
	}
	if report, err = plan.Report(ctx); err != nil {
		return report, err
	}
	return report, report.tooMany(plan.options.MaxIDs)
}
