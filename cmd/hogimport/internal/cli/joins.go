package cli

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// bindLinks adds the flags that say how --links joins ids.
func (in *input) bindLinks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.SharedDevices, "shared-devices", "", "with --links: an id that two users had before login, a `RULE`:\nalone (default), or first-user, who then has the visits of both")
	cmd.Flags().StringArrayVar(&in.RealIDs, "real-id", nil, "an `ID` of a person that looks like a placeholder, such as 0;\nNULL, unknown, -1 and the like are joined with no other id")
	cmd.Flags().StringVar(&in.MaxIDs, "max-ids", "", "with --links: stop before a person of more ids than this `NUMBER`; default 1000; none for no limit")
	cmd.Flags().StringVar(&in.memory, "memory", "", "with --links: how much memory the program may take while it joins ids, a `SIZE`;\ndefault 256MiB, for 10 million ids")
}

// memoryBytes returns the bytes of --memory: 0 is the default, and -1 means that it is not a size.
func (in *input) memoryBytes() int {
	if in.memory == "" {
		return 0
	}
	const mib, least = 1 << 20, 64
	text, unit := strings.TrimSuffix(in.memory, "MiB"), 1
	if text == in.memory {
		text, unit = strings.TrimSuffix(in.memory, "GiB"), 1<<10
	}
	n, err := strconv.Atoi(text)
	if err != nil || text == in.memory || n > math.MaxInt32 || n*unit < least {
		return -1
	}
	return n * unit * mib
}

// joinsByDefault reports whether ids are joined without --links: the identify calls of these formats would join two users of one
// device for good.
func (in *input) joinsByDefault() bool { return in.Format == "segment" || in.Format == "rudderstack" }

// maxIDs returns the largest number of ids that a person may have; -1 means no limit, and 0 that --max-ids is wrong.
func (in *input) maxIDs() int {
	switch in.MaxIDs {
	case "":
		const byDefault = 1000
		return byDefault
	case "none":
		return -1
	}
	n, err := strconv.Atoi(in.MaxIDs)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// linksOptions returns how ids are joined.
func (in *input) linksOptions() *formats.LinksOptions {
	return &formats.LinksOptions{
		Memory: in.memoryBytes(), SharedDevices: formats.SharedDevices(in.SharedDevices), MaxIDs: in.maxIDs(), RealIDs: in.RealIDs, Placeholders: in.mapping == formats.OldestMapping,
	}
}

// groups returns the types of groups by the properties with their keys.
func (in *input) groups() map[string]string {
	types := map[string]string{}
	for _, text := range in.Groups {
		property, groupType, _ := strings.Cut(text, "=")
		types[property] = groupType
	}
	return types
}

// checkPersons checks the flags about persons and groups.
func (in *input) checkPersons() error {
	isVendor := in.Format == "mixpanel" || in.joinsByDefault()
	switch rules := []string{"", string(formats.SharedDevicesAlone), string(formats.SharedDevicesFirstUser)}; {
	case !slices.Contains(rules, in.SharedDevices):
		return shell.UsageError(fmt.Sprintf("--shared-devices %q is not known", in.SharedDevices), "give alone or first-user")
	case in.maxIDs() == 0:
		return shell.UsageError(fmt.Sprintf("--max-ids %q is not a number of ids", in.MaxIDs), "give a number such as 1000, or none for no limit")
	case in.memoryBytes() < 0:
		return shell.UsageError(fmt.Sprintf("--memory %q is not enough, or not a size", in.memory), "give a size such as 512MiB or 2GiB; the least is 64MiB")
	case len(in.Groups) > 0 && in.Format != "mixpanel":
		return shell.UsageError("--group is for mixpanel, not for "+in.Format, "leave it out, or give --format mixpanel")
	case in.NoVisitorProfiles && !isVendor:
		return shell.UsageError("--no-visitor-profiles is for mixpanel, segment and rudderstack, not for "+in.Format, "leave it out")
	case in.LookUpIP && !isVendor:
		return shell.UsageError("--look-up-ip is for mixpanel, segment and rudderstack, not for "+in.Format, "leave it out")
	}
	for _, text := range in.Groups {
		if property, groupType, _ := strings.Cut(text, "="); property == "" || groupType == "" {
			return shell.UsageError(fmt.Sprintf("--group %q is not PROPERTY=TYPE", text), "give the property with the keys and the type of the groups, such as company_id=company")
		}
	}
	return nil
}

// withoutMerges leaves the merges to the links, if the import has any. Events of PostHog make the same persons again as they are.
func (in *input) withoutMerges(source history.Source) history.Source {
	if !in.Links || in.Format == "posthog" {
		return source
	}
	return formats.WithoutMerges(source)
}

// linkSource yields the pairs of ids that --links joins first. At its end it has the number of pairs, and the
// number of pairs that join ids, which is -1 if an earlier run has read the first pairs.
type linkSource struct {
	history.Source
	begun func()
	found func(formats.LinksReport)
	ended func(all, joined int64)
}

// Unwrap returns the source.
func (l *linkSource) Unwrap() history.Source { return l.Source }

// Events implements history.Source.
func (l *linkSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if l.begun != nil {
			l.begun()
		}
		all, joined := after.Offset, int64(0) // the offset of a link is its number
		for ev, err := range l.Source.Events(ctx, after) {
			if err == nil {
				all = ev.Position.Offset
			}
			if err == nil && !ev.Timestamp.IsZero() { // else it is a device with two users, which is left out
				joined++
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if !after.IsZero() {
			joined = -1
		}
		if l.ended != nil {
			l.ended(all, joined)
		}
	}
}

// links reports whether an import has links, how many were read, and how many were acknowledged: 0
// if that is not known.
func (s *state) links(r hogapi.Receipt) (has bool, read, acknowledged int64) {
	all := s.kept.Links
	switch {
	case !s.kept.Input.Links:
		return false, 0, 0
	case all == 0: // there are no links, or the run was killed before it saved their number
		return slices.ContainsFunc(r.Days, func(d event.DayCount) bool { return d.Event == "$identify" }), 0, 0
	case !r.Finished:
		return true, 0, 0
	case r.Rejected+r.Unconfirmed > 0: // some may be links
		return true, all, 0
	}
	joined := all - r.Skips[formats.SkipSharedDevice] - r.Skips[formats.SkipUserDevice] - r.Skips[formats.SkipPlaceholder] - r.Skips[formats.SkipRepeated]
	return joined > 0, all, joined
}
