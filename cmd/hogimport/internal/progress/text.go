package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Number is a number with its thousands divided, such as 1,234,567.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Span is a duration for people, such as 42s, 5m03s, 2h14m or 3d04h.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Words is a duration in words, such as 42 s, 5 min, 2 h 14 min or 3 days 4 h.
func Words(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(large time.Duration, largeUnit string, small time.Duration, unit string) string {
		if small == 0 {
			return fmt.Sprintf("%d %s", large, largeUnit)
		}
		return fmt.Sprintf("%d %s %d %s", large, largeUnit, small, unit)
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	case d < 10*time.Minute:
		d = d.Round(time.Second)
		return two(d/time.Minute, "min", d%time.Minute/time.Second, "s")
	case d < 2*day:
		d = d.Round(time.Minute)
		if d < time.Hour {
			return fmt.Sprintf("%d min", d/time.Minute)
		}
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "min")
	}
	d = d.Round(time.Hour)
	return two(d/day, "days", d%day/time.Hour, "h")
}

// bar is a bar of some width for a share from 0 to 1.
func bar(share float64, width int) string {
	full := min(max(int(share*float64(width)), 0), width)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "]"
}
