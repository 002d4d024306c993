package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi/formats/mixpanel"
)

type zoneView struct {
	page.Verdict

	Counts  string    // which events the offsets are about
	Offsets []counted // the most frequent
}

// newZones returns the result of the zone test for the clocks of a zone, or nil without a test.
func newZones(t *mixpanel.ZoneTest, chosen *time.Location) *zoneView {
	if t == nil {
		return nil
	}
	v := &zoneView{Counts: "Of the " + page.Plural(t.Live, "live event", "live events") + " among " + page.Plural(t.Records, "record", "records") +
		": those that reached Mixpanel within a minute, and were not imported there."}
	for offset, n := range t.Offsets {
		v.Offsets = append(v.Offsets, counted{Name: offsetName(offset), N: n, Of: t.Live, Width: percent(float64(n), int(max(t.Live, 1)))})
	}
	slices.SortFunc(v.Offsets, func(a, b counted) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	const most = 8
	v.Offsets = v.Offsets[:min(most, len(v.Offsets))]
	if chosen == nil {
		chosen = time.UTC
	}
	fits := t.Share(chosen)
	fitting := page.Share(int64(fits*float64(t.Live)+0.5), t.Live) + " of the live events agree with the clock of Mixpanel's servers."
	switch {
	case t.Live == 0:
		v.Level, v.Title = page.Warn, "The time zone could not be tested"
		v.Text = "No record has the time of Mixpanel's servers. Projects made before 2023 export local time: " +
			"if this is one, give the zone of its settings with --zone, and compare one event whose time you know."
	case fits > 0.5:
		v.Level, v.Title, v.Text = page.Good, "The times fit "+chosen.String(), fitting
	case t.IsLocal():
		v.Level, v.Title = page.Bad, "The times are local, not UTC"
		if chosen != time.UTC {
			v.Title = "The times do not fit " + chosen.String()
		}
		v.Text = "Most live events are at " + v.Offsets[0].Name + " by the clock of Mixpanel's servers, and would be stored at the wrong hour. "
		if zone := BestZone(t); zone != "" {
			v.Text += "The clocks of " + zone + " fit best: give --zone " + zone + ", or another zone with these clocks."
		} else {
			v.Text += "Give the time zone of the Mixpanel project with --zone."
		}
	default:
		v.Level, v.Title = page.Bad, "The times do not fit "+chosen.String()
		v.Text = "Only " + fitting + " Give the time zone of the Mixpanel project with --zone, or none for UTC."
	}
	return v
}

// ZoneVerdict is the result of the zone test for the clocks of a zone.
func ZoneVerdict(t *mixpanel.ZoneTest, chosen *time.Location) page.Verdict {
	return newZones(t, chosen).Verdict
}

// commonZones has the zones to try. Of zones with equal clocks, the most populous comes first.
var commonZones = []string{
	"America/Los_Angeles", "America/New_York", "America/Chicago", "America/Denver", "America/Phoenix", "America/Toronto", "America/Halifax",
	"America/Sao_Paulo", "America/Mexico_City", "America/Bogota", "America/Argentina/Buenos_Aires", "America/Santiago",
	"Europe/London", "Europe/Paris", "Europe/Helsinki", "Europe/Istanbul", "Europe/Moscow", "Africa/Lagos", "Africa/Cairo", "Africa/Johannesburg",
	"Asia/Jerusalem", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Dhaka", "Asia/Jakarta", "Asia/Shanghai", "Asia/Tokyo",
	"Australia/Perth", "Australia/Brisbane", "Australia/Sydney", "Pacific/Auckland", "Pacific/Honolulu",
}

// BestZone returns the zone with clocks that fit the most live events, or "" if no zone fits nearly all of
// them.
func BestZone(t *mixpanel.ZoneTest) (best string) {
	most := 0.9
	for _, name := range commonZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		if fits := t.Share(zone); fits > most {
			best, most = name, fits
		}
	}
	return best
}

// offsetName returns the offset of a time from UTC.
func offsetName(d time.Duration) string {
	if d == 0 {
		return "UTC"
	}
	sign := "+"
	if d < 0 {
		sign, d = "−", -d
	}
	return fmt.Sprintf("UTC%s%d:%02d", sign, d/time.Hour, d%time.Hour/time.Minute)
}
