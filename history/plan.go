package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

// PlanVersion is the version of the form of a [Plan]. Later releases read plans of earlier versions.
const PlanVersion = 1

// Plan is a migration as a value: which files are imported, how they are read and sent, and what was expected of them. The
// command hogimport keeps it in a file, which a person reads before the import; docs/historical-import.md shows one. A
// program fills the same fields. Before an import call Check, which refuses a plan with an open decision, and Changes, which
// compares the files. Options are those of [Import], and Paths the files of its source. A plan has no key of a project.
type Plan struct {
	Version  int            `json:"plan"`              // PlanVersion
	ID       string         `json:"import_id"`         // Options.ID
	State    string         `json:"state,omitempty"`   // the folder of hogimport's state
	Mapping  int            `json:"mapping,omitempty"` // formats.MappingVersion of the release that made the plan; 0: the format has none
	Project  PlanProject    `json:"project,omitzero"`
	Files    []PlanFile     `json:"files"`
	Choices  Choices        `json:"choices"`
	Limits   PlanLimits     `json:"limits,omitzero"`
	Decide   []PlanDecision `json:"decide,omitempty"`
	Expected PlanOutcome    `json:"expected,omitzero"`
}

// PlanProject is where the events go. Empty fields are not known.
type PlanProject struct {
	Host string `json:"host,omitempty"` // that takes events
	ID   string `json:"id,omitempty"`   // the number of the project
	Key  string `json:"key,omitempty"`  // a digest of the project API key, from which nobody can make the key
}

// PlanLimits are limits of an import in the words of hogimport's flags. Empty ones have their defaults.
type PlanLimits struct {
	MaxRejects string `json:"max_rejects,omitempty"` // a number, a share such as 5%, or none
	Rate       string `json:"rate,omitempty"`        // events a second, or none
	Protocol   string `json:"protocol,omitempty"`    // auto, v1 or batch
	MaxOutage  string `json:"max_outage,omitempty"`  // such as 15m
	Memory     string `json:"memory,omitempty"`      // to join ids, such as 512MiB
}

// Keys returns all limits.
func (l *PlanLimits) Keys() []PlanKey {
	return []PlanKey{{"max-rejects", &l.MaxRejects}, {"rate", &l.Rate}, {"protocol", &l.Protocol}, {"max-outage", &l.MaxOutage}, {"memory", &l.Memory}}
}

// PlanDecision is a problem that a person has to decide. Until then the plan cannot be run.
type PlanDecision struct {
	Key     string       `json:"key"`     // the choice or the limit that the answer sets; or a word of its own, such as accept-overlap
	Problem string       `json:"problem"` // for people
	Answers []PlanAnswer `json:"answers"` // that are allowed
	Other   string       `json:"other,omitempty"`
	Answer  string       `json:"answer"` // one of Answers or, where Other says what, another text; empty: not decided
}

// PlanAnswer is an answer that a decision allows, and what it does.
type PlanAnswer struct {
	Answer string `json:"answer"`
	Effect string `json:"effect"`
}

// PlanOutcome is what the import is expected to do.
type PlanOutcome struct {
	Events   int64       `json:"events"`   // that are sent
	Rejected int64       `json:"rejected"` // that go to the reject file
	LeftOut  int64       `json:"left_out"` // records that are left out on purpose
	Persons  int64       `json:"persons"`  // about how many different ids
	Billed   int64       `json:"billed"`   // events younger than 48 hours, which PostHog bills as live ones
	Months   []PlanMonth `json:"months,omitempty"`
}

// PlanMonth is what PostHog will show of a month in UTC. Views, visitors and sessions are those of web analytics.
type PlanMonth struct {
	Month    string `json:"month"` // 2006-01
	Events   int64  `json:"events"`
	Visitors int64  `json:"visitors"`
	Views    int64  `json:"views"`
	Sessions int64  `json:"sessions"`
}

// IsOpen reports whether the answer is missing, or is none of those that are allowed.
func (d PlanDecision) IsOpen() bool {
	isListed := slices.ContainsFunc(d.Answers, func(a PlanAnswer) bool { return a.Answer == d.Answer })
	return d.Answer == "" || !isListed && d.Other == ""
}

// Decided returns the plan with each answer in place of the choice or the limit that it decides.
func (p Plan) Decided() Plan {
	for _, key := range append(p.Choices.Keys(), p.Limits.Keys()...) {
		for _, d := range p.Decide {
			if d.Key != key.Name || d.IsOpen() {
				continue
			}
			switch to := key.To.(type) {
			case *string:
				*to = d.Answer
			case *bool:
				*to = d.Answer == "true"
			case *[]string:
				*to = []string{d.Answer}
			}
		}
	}
	return p
}

// Check refuses a plan that cannot be run: of another version, without a name or files, with an open decision or a wrong
// limit. The error joins an [*hogapi.InputError] for each, with the name of the field.
func (p Plan) Check() error {
	var list []error
	refuse := func(field, value, want string) {
		list = append(list, &hogapi.InputError{Op: ops.Import, Field: field, Value: value, Want: want})
	}
	if p.Version < 1 || p.Version > PlanVersion {
		refuse("plan", strconv.Itoa(p.Version), fmt.Sprintf("a plan of a version up to %d", PlanVersion))
	}
	if p.ID == "" {
		refuse("import-id", "", "the name of the import")
	}
	if len(p.Files) == 0 {
		refuse("files", "", "one file or more")
	}
	for _, d := range p.Decide {
		if !d.IsOpen() {
			continue
		}
		var allowed []string
		for _, a := range d.Answers {
			allowed = append(allowed, a.Answer)
		}
		if d.Other != "" {
			allowed = append(allowed, d.Other)
		}
		refuse("decide."+d.Key, d.Answer, "an answer: "+strings.Join(allowed, ", or "))
	}
	_, err := p.Decided().Options()
	return errors.Join(append(list, err)...)
}

// Options returns the options of the import that the limits and the name of the plan say. The caller adds what a plan does
// not have, such as the checkpoint.
func (p Plan) Options() (*Options, error) {
	const (
		rate      = 1000
		maxOutage = 15 * time.Minute
		quick     = 30 * time.Second // for what cannot be reached at all
	)
	o := &Options{ID: p.ID, Rate: rate}
	refuse := func(field, value, want string) (*Options, error) {
		return o, &hogapi.InputError{Op: ops.Import, Field: field, Value: value, Want: want}
	}
	var err error
	if o.MaxRejectShare, o.MaxRejects, err = rejectLimit(p.Limits.MaxRejects); err != nil {
		return o, err
	}
	switch text := p.Limits.Rate; text {
	case "":
	case "none":
		o.Rate = hogapi.RateUnlimited
	default:
		if o.Rate, err = strconv.Atoi(text); err != nil || o.Rate < 1 {
			return refuse("rate", text, "a number of events such as 1000, or none for no limit")
		}
	}
	switch text := p.Limits.Protocol; text {
	case "", "auto":
	case "v1", "batch":
		o.Delivery.Protocol = hogapi.Protocol(text)
	default:
		return refuse("protocol", text, "auto, v1 or batch")
	}
	outage := maxOutage
	if text := p.Limits.MaxOutage; text != "" {
		if outage, err = time.ParseDuration(text); err != nil || outage < time.Second {
			return refuse("max-outage", text, "a time of a second or more, such as 15m")
		}
	}
	o.Delivery.GiveUpAfter, o.Delivery.UnreachableAfter = outage, min(outage, quick)
	return o, nil
}

// rejectLimit reads a limit of rejects: a number, a share, or no limit.
func rejectLimit(text string) (share float64, number int64, err error) {
	switch text {
	case "":
		return 0, 0, nil
	case "none":
		return -1, 0, nil
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		if share, err = strconv.ParseFloat(percent, 64); err == nil && share > 0 && share <= 100 {
			return share / 100, 0, nil
		}
	} else if number, err = strconv.ParseInt(text, 10, 64); err == nil && number > 0 {
		return -1, number, nil
	}
	return 0, 0, &hogapi.InputError{Op: ops.Import, Field: "max-rejects", Value: text, Want: "a number such as 500, a share such as 5%, or none"}
}
