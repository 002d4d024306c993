package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// checkOverlap refuses a range whose rows a folder has in part already, in files of other intervals: a reader of all files
// would see them twice. Intervals of the same beginning continue.
func checkOverlap(folder string, from, to time.Time) error {
	const stamp, step = "2006-01-02T150405Z", 7 * 24 * time.Hour
	from = from.Truncate(time.Second)
	found, _ := os.ReadDir(folder) // what is wrong with the folder shows when a file is written
	for _, file := range found {
		name, isState := strings.CutSuffix(file.Name(), ".range")
		if !isState || len(name) != 2*len(stamp)+1 {
			continue
		}
		start, err := time.Parse(stamp, name[:len(stamp)])
		end, bad := time.Parse(stamp, name[len(stamp)+1:])
		want := start.Add(step)
		if want.After(to) {
			want = to.Truncate(time.Second)
		}
		isSame := !start.Before(from) && start.Sub(from)%step == 0 && end.Equal(want)
		if err == nil && bad == nil && start.Before(to) && end.After(from) && !isSame {
			return shell.UsageError(fmt.Sprintf("%s has rows of %s to %s already, which would be there twice", folder, start.Format(clock), end.Format(clock)),
				"give the same --from and --to to continue, another FOLDER, or a time that does not overlap")
		}
	}
	return nil
}
