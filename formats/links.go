package formats

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Reasons why a link is left out: but for the last one, it would merge two persons permanently.
const (
	SkipSharedDevice = "a device with two users"         // more than one person used the anonymous id: see LinksOptions.SharedDevices
	SkipUserDevice   = "a device with the id of a user"  // the anonymous id is also an id of another person
	SkipPlaceholder  = "a placeholder in place of an id" // such as NULL or unknown: see LinksOptions.RealIDs
	SkipRepeated     = "a link that is there already"    // earlier releases sent it again; its number stays, for imports that go on
)

// SharedDevices is the treatment of an anonymous id that several persons used. Its visits cannot be told apart.
type SharedDevices string

// Shared devices.
const (
	// SharedDevicesAlone leaves the anonymous id to itself: its visits belong to a further person. It is the
	// default.
	SharedDevicesAlone SharedDevices = "alone"
	// SharedDevicesFirstUser gives the anonymous id to the first person that used it, as live PostHog does. This
	// person also gets the anonymous visits of the others.
	SharedDevicesFirstUser SharedDevices = "first-user"
)

// LinksOptions are the options of [LinksWith] and [PlanLinks]. Nil stands for the defaults.
type LinksOptions struct {
	// SharedDevices is the treatment of an anonymous id that several persons used. The default is SharedDevicesAlone.
	SharedDevices SharedDevices
	// MaxIDs is the most ids that a person may have. A person with more stops the import before its first link, with
	// a *[hogapi.InputError]: so many ids are mostly a mistake, such as one id for all visitors. The default is
	// 1,000; -1 means no limit.
	MaxIDs int
	// RealIDs are ids that are linked although they look like placeholders, such as the 0 of somebody's user. By default,
	// NULL, unknown, -1 and the like are never linked: they would make one person of all visitors who have them.
	RealIDs []string
	// Memory is how many bytes the process may take while the links are found: 48 MiB, and 21 for each id of the source. If there
	// are more ids, the import stops before its first event with a *[hogapi.InputError] that names the memory that it needs.
	// The default is 256 MiB, which is enough for 10,000,000 ids; the least is 64 MiB.
	Memory int
	// Placeholders links placeholders too, as mapping 3 did: for an import that began with it.
	Placeholders bool
	// OnReport, if not nil, is called with the report before the first link.
	OnReport func(LinksReport)
}

// Links is [LinksWith] with the default options.
func Links(source history.Source) history.Source { return LinksWith(source, nil) }

// LinksWith returns a source of the $identify events that join the ids of each person, oldest first. Import it
// before the events that need the links, since merges act in the order of arrival:
//
//	history.Concat(formats.LinksWith(source, nil), formats.WithoutMerges(source))
//
// The ids of a person are Event.DistinctID and Event.UserIDs, which always belong together, and Event.AnonymousID,
// unless other persons used it too or it is the id of a user: it is then skipped, with the reason
// [SkipSharedDevice] or [SkipUserDevice]. An alias in $create_alias and an $anon_distinct_id in $identify count as
// anonymous ids. One of the ids of a person is linked with each of the others. A link has a uuid that is derived
// from both ids, and the time of the oldest event of either: PostHog takes the time of the first event that arrives
// for the beginning of a person.
//
// The source is read once before the first link, and again if an import resumes within the links. Ids are sorted on
// disk, in the folder for temporary files; the links between them are in memory, see LinksOptions.Memory. The next run
// removes the files that a crash has left there. Links ignores records that make no event.
func LinksWith(source history.Source, options *LinksOptions) history.Source {
	return links{source, optionsOf(options)}
}

func optionsOf(options *LinksOptions) (o LinksOptions) {
	const most, memory = 1000, 256 << 20
	if options != nil {
		o = *options
	}
	o.SharedDevices, o.MaxIDs = cmp.Or(o.SharedDevices, SharedDevicesAlone), cmp.Or(o.MaxIDs, most)
	o.Memory = cmp.Or(o.Memory, memory)
	return o
}

func (o LinksOptions) check() error {
	if o.SharedDevices != SharedDevicesAlone && o.SharedDevices != SharedDevicesFirstUser {
		return &hogapi.InputError{Op: ops.Import, Field: "LinksOptions.SharedDevices", Value: string(o.SharedDevices),
			Want: "SharedDevicesAlone or SharedDevicesFirstUser"}
	}
	if o.Memory < minMemory {
		return &hogapi.InputError{Op: ops.Import, Field: "LinksOptions.Memory", Value: strconv.Itoa(o.Memory), Want: "at least 64 MiB, in bytes"}
	}
	return nil
}

// IsPlaceholder reports whether an id stands for no id, such as NULL, unknown or -1, in any case and in quotes.
func IsPlaceholder(id string) bool { return wire.IsPlaceholder(id) }

type links struct {
	source  history.Source
	options LinksOptions
}

func (l links) Name() string { return "links of " + l.source.Name() }

// Unwrap returns the source that is read.
func (l links) Unwrap() history.Source { return l.source }

// linksKey is the key of the positions of links: the offset is the number of the link, from 1.
const linksKey = "links of persons"

func (l links) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return yielding(func(yield func(hogapi.Event) bool) error { return l.events(ctx, after, yield) })
}

// yielding is the sequence of the events that a function yields, with its error at the end.
func yielding(events func(yield func(hogapi.Event) bool) error) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if err := events(func(ev hogapi.Event) bool { return yield(ev, nil) }); err != nil {
			yield(hogapi.Event{}, err)
		}
	}
}

func (l links) events(ctx context.Context, after hogapi.Position, yield func(hogapi.Event) bool) (err error) {
	if !after.IsZero() && after.Key != linksKey {
		return fmt.Errorf("there is no position %s among links: if an earlier release began this import, "+
			"import with another checkpoint from the start: events keep their uuids", after)
	}
	plan, err := NewLinksPlan(&l.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if err := plan.read(ctx, l.source); err != nil {
		return err
	}
	report, err := plan.Report(ctx)
	if err != nil {
		return err
	}
	if l.options.OnReport != nil {
		l.options.OnReport(report)
	}
	if err := report.tooMany(l.options.MaxIDs); err != nil {
		return err
	}
	n, damaged := int64(0), error(nil)
	err = plan.byTime.Read(0, func(item []byte, _ int64) bool {
		if n++; n <= after.Offset {
			return true
		}
		if damaged = context.Cause(ctx); damaged != nil {
			return false
		}
		var p pair
		if damaged = json.Unmarshal(item[timeKey:], &p); damaged != nil {
			return false
		}
		p.at = stamp(item)
		return yield(p.event(hogapi.Position{Key: linksKey, Offset: n}))
	})
	return errors.Join(err, damaged)
}

// pair is an id and the one that it is linked to, as they are kept.
type pair struct {
	Anonymous string `json:"a"`
	User      string `json:"u,omitempty"`
	Skip      string `json:"s,omitempty"` // why it is not linked
	at        stamp  // the time of the oldest event
}

var linkSpace = uuid.MustParse("8c1f4f0e-2a2b-5a55-9a35-0b8e2f8f7f01")

func (p pair) event(at hogapi.Position) hogapi.Event {
	if p.Skip != "" {
		return event.Skip(at, p.Skip)
	}
	ev := hogapi.Identify(p.User, p.at.time(), nil)
	ev.Properties = map[string]any{"$anon_distinct_id": p.Anonymous}
	key := binary.BigEndian.AppendUint64(nil, uint64(len(p.Anonymous)))
	ev.UUID = uuid.NewSHA1(linkSpace, append(append(key, p.Anonymous...), p.User...))
	ev.Position = at
	return ev
}
