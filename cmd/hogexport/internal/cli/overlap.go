package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	ranges "github.com/hogapi/hogapi/internal/download"
)

// checkOverlap refuses a range whose rows a folder has in part already, in files of other intervals: a reader of all files
// would see them twice. The intervals of the same range continue.
func checkOverlap(folder string, from, to time.Time) error {
	const stamp, step = "2006-01-02T150405Z", 7 * 24 * time.Hour
	own := map[string]bool{}
	for at := from; at.Before(to); at = at.Add(step) {
		end, half := at.Add(step), at.Add(ranges.RecentOnly/2) // of a range of that length, which is halved
		if end.After(to) {
			end = to
		}
		for _, x := range [][2]time.Time{{at, end}, {at, half}, {half, end}} {
			own[x[0].UTC().Format(stamp)+"-"+x[1].UTC().Format(stamp)] = true
		}
	}
	found, _ := os.ReadDir(folder) // what is wrong with the folder shows when a file is written
	for _, file := range found {
		name, isState := strings.CutSuffix(file.Name(), ".range")
		if !isState || len(name) != 2*len(stamp)+1 {
			continue
		}
		start, err := time.Parse(stamp, name[:len(stamp)])
		end, bad := time.Parse(stamp, name[len(stamp)+1:])
		if err == nil && bad == nil && start.Before(to) && end.After(from) && !own[name] {
			return shell.UsageError(fmt.Sprintf("%s has rows of %s to %s already, which would be there twice", folder, start.Format(clock), end.Format(clock)),
				"give the same --from and --to to continue, another FOLDER, or a time that does not overlap")
		}
	}
	return nil
}
