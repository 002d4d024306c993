package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

const clock = "2006-01-02 15:04"

// parseTime reads a time that a person gives: a day of UTC, a time, or how long ago it is, such as 36h or 30d.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, clock, "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, shell.UsageError(fmt.Sprintf("%s %q is not a time", flag, text), "give a day of UTC such as 2026-11-01, a time such as 2026-11-01T12:00:00Z, or how long ago it is: 36h, 30d")
}

// span returns a duration in one unit, such as "3 h".
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 min"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}
