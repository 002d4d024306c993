package cli

import (
	"fmt"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	ranges "github.com/hogapi/hogapi/internal/download"
)

// checkOverlap refuses a range if the folder already has some of its rows, in files of other intervals. Other problems
// with the folder show when a file is written.
func checkOverlap(folder string, from, to time.Time) error {
	start, end, found := ranges.Overlap(folder, from, to, ranges.LongestStep)
	if !found {
		return nil
	}
	return shell.UsageError(fmt.Sprintf("%s already has rows of %s to %s, which would be duplicated", folder, start.Format(clock), end.Format(clock)),
		"give the same --from and --to to continue, another FOLDER, or a time that does not overlap")
}
