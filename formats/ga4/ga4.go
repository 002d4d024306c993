package ga4

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// Reasons why rows are skipped.
const (
	SkipNoID = "no id"        // neither user_id nor user_pseudo_id, without Options.Personless
	SkipName = "skipped name" // one of Options.Skip
)

// Options say how rows become events. Nil means the defaults.
type Options struct {
	// Personless keeps the events of visitors who gave no consent, and so have no id: each gets an id of
	// its own, made of its row, and $process_person_profile false. The default skips them.
	Personless bool
	// Skip are event names of GA4 to leave out. Google makes some events itself that say little in
	// PostHog: session_start, first_visit, user_engagement.
	Skip []string
	// PersonProperties says what becomes of user properties.
	PersonProperties formats.PersonProperties
}

// Format reads rows of the tables events_… of GA4's export to BigQuery, as JSON objects in any of their
// forms.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
		o.Skip = slices.Clone(o.Skip)
	}
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	pool := sync.Pool{New: func() any { return newConverter(o) }}
	return hogapi.Format{
		Name:    "ga4",
		Options: o.text(),
		Layout:  hogapi.LayoutJSON,
		Convert: func(record []byte) ([]hogapi.Event, error) {
			if err := o.PersonProperties.Check(); err != nil {
				return nil, fmt.Errorf("ga4: options: %w", err)
			}
			c, _ := pool.Get().(*converter)
			defer pool.Put(c)
			return c.convert(record)
		},
		ID: func(record []byte) uuid.UUID {
			c, _ := pool.Get().(*converter)
			defer pool.Put(c)
			return c.id(record)
		},
	}
}

// text names what differs from the defaults.
func (o Options) text() string {
	var parts []string
	if o.Personless {
		parts = append(parts, "personless")
	}
	if o.PersonProperties != formats.PersonSetOnce {
		parts = append(parts, "person="+string(o.PersonProperties))
	}
	skip := slices.Clone(o.Skip)
	slices.Sort(skip)
	for _, name := range slices.Compact(skip) {
		parts = append(parts, "skip="+strconv.QuoteToASCII(name))
	}
	return strings.Join(parts, ",")
}

// space is the namespace of the ids of rows.
var space = uuid.MustParse("3f7e2c9a-51b8-5d04-8a6c-0e94b7d2f613")
