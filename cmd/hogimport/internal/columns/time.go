package columns

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Layouts of times that are read without a conversion.
var (
	layoutsWithOffset = []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05 UTC",
		"2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05-0700",
	}
	layoutsWithout = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}
)

// time reads a time. Where it has no offset it is one of the zone, and refused without one.
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
	case asLayout:
		if zone == nil {
			zone = time.UTC // the layout has an offset
		}
		at, err := time.ParseInLocation(u.layout, s, zone)
		if err != nil {
			return at, fmt.Errorf("want a time such as %s, not %s", u.layout, shown(value))
		}
		return at.UTC(), nil
	}
	for _, layout := range layoutsWithOffset {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), nil
		}
	}
	for _, layout := range layoutsWithout {
		if zone == nil {
			if _, err := time.Parse(layout, s); err == nil {
				return time.Time{}, fmt.Errorf("the time %s has no offset: give --zone, such as UTC", shown(value))
			}
			continue
		}
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return at.UTC(), nil
		}
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return time.Time{}, fmt.Errorf("%s is a number: add |unix (seconds), |unixms or |unixus to the mapping of the time", shown(value))
	}
	return time.Time{}, fmt.Errorf("want a time such as 2024-05-01T12:30:00Z, not %s: for another form add |layout:… to the mapping of the time", shown(value))
}

// unix reads a number of units since 1970, of which one has that many digits of nanoseconds.
func unix(s string, digits int) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	isDigits := strings.Trim(fraction, "0123456789") == ""
	if err != nil || !isDigits {
		return time.Time{}, fmt.Errorf("want a number since 1970, not %q", s[:min(len(s), 40)])
	}
	fraction = (fraction + strings.Repeat("0", digits))[:digits]
	nanoseconds, _ := strconv.ParseInt(fraction, 10, 64)
	if strings.HasPrefix(whole, "-") {
		nanoseconds = -nanoseconds
	}
	per := int64(1)
	for range 9 - digits {
		per *= 10
	}
	unit := int64(time.Second) / per
	return time.Unix(seconds/per, seconds%per*unit+nanoseconds).UTC(), nil
}
