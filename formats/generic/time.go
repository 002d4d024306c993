package generic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// Layouts of times that are read without a conversion.
var (
	layoutsWithOffset = []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05 UTC",
		"2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05-0700",
	}
	layoutsWithout = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}
)

func (u *use) time(value []byte, zone *time.Location) (time.Time, error) {
	s, err := textOf(value)
	if err != nil {
		return time.Time{}, err
	}
	s = strings.TrimSpace(s)
	switch u.conversion { //nolint:exhaustive // others are not for times
	case asUnix:
		return unix(s, 9)
	case asUnixMS:
		return unix(s, 6)
	case asUnixUS:
		return unix(s, 3)
	case asUnixNS:
		return unix(s, 0)
	case asLayout:
		if zone == nil && !hasOffset(u.layout) && !hasAbbreviation(u.layout) {
			return time.Time{}, fmt.Errorf("%s is empty, and the time %s has no offset: give Options.Zone, such as UTC", u.zone.from(), shown(value))
		}
		return inLayout(u.layout, s, zone)
	}
	at, isLocal, err := parseTime(s, zone)
	if err == nil && isLocal && zone == nil {
		err = fmt.Errorf("the time %s has no offset: give Options.Zone, such as UTC", shown(value))
	}
	if errors.Is(err, errNoTime) {
		err = fmt.Errorf("want a time such as 2024-05-01T12:30:00Z, not %s: for another form add |layout:… to the mapping of the time", shown(value))
		if _, noNumber := strconv.ParseFloat(s, 64); noNumber == nil {
			err = fmt.Errorf("%s is a number: add |unix (seconds), |unixms, |unixus or |unixns to the mapping of the time", shown(value))
		}
	}
	return at, err
}

var errNoTime = errors.New("no time")

// parseTime reads a time of one of the usual layouts, and reports whether it has no offset. Without
// a zone it is then not one that counts.
func parseTime(s string, zone *time.Location) (at time.Time, isLocal bool, err error) {
	for _, layout := range layoutsWithOffset {
		if at, err = time.Parse(layout, s); err == nil {
			return at.UTC(), false, nil
		}
	}
	for _, layout := range layoutsWithout {
		if at, err = time.Parse(layout, s); err != nil {
			continue
		}
		if zone != nil {
			at, err = local(at, zone)
		}
		return at, true, err
	}
	return time.Time{}, false, errNoTime
}

func inLayout(layout, s string, zone *time.Location) (time.Time, error) {
	if zone == nil {
		zone = time.UTC // the layout has an offset, or an abbreviation
	}
	at, err := time.ParseInLocation(layout, s, zone)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("want a time such as %s, not %q", layout, s[:min(len(s), 40)])
	case hasOffset(layout):
		return at.UTC(), nil
	case hasAbbreviation(layout):
		name, offset := at.Zone()
		if at.Location() != zone && at.Location() != time.UTC && name != "GMT" && offset == 0 { // Parse has made it up
			return time.Time{}, fmt.Errorf("%s of the time %q is not known in %s: give Options.Zone, a time zone whose clocks have it",
				name, s[:min(len(s), 40)], zone)
		}
		return at.UTC(), nil
	}
	if at, err = time.Parse(layout, s); err != nil {
		return time.Time{}, err
	}
	return local(at, zone)
}

// zones has the time zones that records have named, by their names.
var zones sync.Map

// zoneOf returns the time zone that a record names: of the time zone database, or an offset.
func zoneOf(value []byte) (*time.Location, error) {
	bad := fmt.Errorf("want a time zone such as Europe/Berlin or +02:00, not %s", shown(value))
	if value[0] != '"' {
		return nil, bad
	}
	s, err := textOf(value)
	if err != nil {
		return nil, err
	}
	s = strings.TrimSpace(s)
	if known, ok := zones.Load(s); ok {
		return known.(*time.Location), nil //nolint:forcetypeassert // it has no others
	}
	for _, layout := range []string{"Z07:00", "-0700", "-07"} {
		if at, err := time.Parse(layout, s); err == nil {
			_, ahead := at.Zone()
			return time.FixedZone(s, ahead), nil
		}
	}
	if s == "" || s == "Local" {
		return nil, bad
	}
	zone, err := time.LoadLocation(s)
	if err != nil {
		return nil, bad
	}
	zones.Store(s, zone)
	return zone, nil
}

// local is when the clocks of a zone show a time, which is given as one of UTC.
func local(shown time.Time, zone *time.Location) (time.Time, error) {
	first, _, ok := record.InZone(shown, zone)
	if !ok {
		return time.Time{}, fmt.Errorf("the clocks of %s skip %s: is it the right zone", zone, shown.Format(time.DateTime))
	}
	return first, nil
}

// hasOffset reports whether times of a layout say how far they are from UTC.
func hasOffset(layout string) bool {
	return strings.Contains(layout, "Z07") || strings.Contains(layout, "-07")
}

// hasAbbreviation reports whether times of a layout have the name of an offset, which a zone gives
// its meaning.
func hasAbbreviation(layout string) bool { return strings.Contains(layout, "MST") }

// wantLayout is empty for a layout in which a time can be written and read again, to the day at
// least; else it says how to write one.
func wantLayout(layout string) string {
	sample := time.Date(2001, 2, 3, 16, 5, 6, 0, time.UTC)
	text := sample.Format(layout)
	at, err := time.Parse(layout, text)
	switch {
	case text == layout || err != nil:
		return "a layout is how 2 January 2006, 15:04:05, is written, such as 02.01.2006 15:04"
	case !at.Truncate(24 * time.Hour).Equal(sample.Truncate(24 * time.Hour)):
		return "the layout lacks the year, the month or the day"
	case at.Hour() != 0 && at.Hour() != sample.Hour():
		return "the layout has an hour of 12 without PM: write 15, or add PM"
	}
	return ""
}

// unix reads a decimal number of units since 1970, of which one has that many digits of
// nanoseconds. It can have an exponent.
func unix(s string, digits int) (time.Time, error) {
	const longest = 40
	bad := fmt.Errorf("want a number since 1970, not %q", s[:min(len(s), longest)])
	number, isNegative := strings.CutPrefix(s, "-")
	mantissa, power, hasPower := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent := 0
	if hasPower {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || max(exponent, -exponent) > longest {
			return time.Time{}, bad
		}
	}
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(s) > longest {
		return time.Time{}, bad
	}
	text := whole + fraction
	seconds := len(whole) + exponent + digits - 9 // digits of them
	if seconds < 0 {
		text, seconds = strings.Repeat("0", -seconds)+text, 0
	}
	if lacking := seconds + 9 - len(text); lacking > 0 {
		text += strings.Repeat("0", lacking)
	}
	sec, err := strconv.ParseInt("0"+text[:seconds], 10, 64)
	if err != nil {
		return time.Time{}, bad
	}
	nanoseconds, _ := strconv.ParseInt(text[seconds:seconds+9], 10, 64) // of nine digits
	if isNegative {
		sec, nanoseconds = -sec, -nanoseconds
	}
	return time.Unix(sec, nanoseconds).UTC(), nil
}
