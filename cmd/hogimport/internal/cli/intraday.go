package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// tableOfDay matches the name of a file of one of GA4's tables of a day. The intraday and the fresh table fill while the day
// lasts, and the same events come into the final one later, with more columns.
var tableOfDay = regexp.MustCompile(`^(.*)events_(intraday_|fresh_)?([0-9]{8})(.*)$`)

// intraday returns the files of tables of days of which a later table is among the paths too.
func intraday(paths []string) (twice []string) {
	ages := []string{"intraday_", "fresh_", ""}
	latest := map[string]int{}
	age := func(path string) (day string, age int) {
		m := tableOfDay.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			return "", 0
		}
		return m[1] + m[3], slices.Index(ages, m[2])
	}
	for _, path := range paths {
		day, n := age(path)
		latest[day] = max(latest[day], n)
	}
	for _, path := range paths {
		if day, n := age(path); day != "" && n < latest[day] {
			twice = append(twice, path)
		}
	}
	return twice
}

func (in *input) isGA4() bool { return in.Format == "ga4" || in.Format == "ga4-warehouse" }

// checkIntraday refuses files that have the events of a day twice.
func (in *input) checkIntraday() error {
	if !in.isGA4() || in.NoIntraday {
		return nil
	}
	twice := intraday(in.paths())
	if len(twice) == 0 {
		return nil
	}
	slices.Sort(twice)
	text := filepath.Base(twice[0]) + " has the events of a day that another file has too"
	if more := len(twice) - 1; more > 0 {
		text = fmt.Sprintf("%s and %s have events of days that other files have too", filepath.Base(twice[0]), counted(int64(more), "more file"))
	}
	return shell.UsageError(text+": Google moves them from the tables intraday and fresh to the table of the day, so each would be imported twice",
		"add --no-intraday to leave the earlier files of these days out, or name the files that you want")
}
