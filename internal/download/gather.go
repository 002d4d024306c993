package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/watch"
)

// Listing is the service's answer about a file download with a completed run. The service lists the files one by one
// after the run has completed, so Files can be incomplete.
type Listing struct {
	Files   []uuid.UUID
	Records *int64 // nil if not known
}

// Gathering completes the list of a file download.
type Gathering struct {
	List     func(context.Context) (Listing, error)
	Items    func([]uuid.UUID) ([]Item, error) // with names that stay the same when the list grows
	Every    time.Duration                     // between two looks at the list
	Patience time.Duration                     // for files that are missing, since the list grew last
}

// Settle is how long a list that may be a part must stay the same.
const Settle = 3 * time.Second

// Gather downloads the files of a listing, and files that the service lists later, until they have all rows of the run.
// If the rows cannot be counted, the list must have stayed the same, without a hole in the numbers of the files. It
// returns the last listing too.
func (f Folder) Gather(ctx context.Context, g Gathering, listed Listing) (paths []string, last Listing, err error) {
	for {
		items, err := g.Items(listed.Files)
		if err != nil {
			return nil, listed, err
		}
		if paths, err = f.Fill(ctx, items); err != nil {
			return paths, listed, err
		}
		lack, err := f.lack(ctx, listed, items, paths)
		if errors.Is(lack, errWhole) || err != nil {
			return paths, listed, err
		}
		patience := Settle
		if lack != nil {
			patience = g.Patience
		}
		for began, isSame := time.Now(), true; isSame; {
			if !watch.Sleep(ctx, g.Every) {
				return paths, listed, ended(ctx, fmt.Errorf("file download %s may have files that are not listed yet", f.Owner))
			}
			next, err := g.List(ctx)
			if err != nil {
				return paths, listed, err
			}
			isSame = slices.Equal(next.Files, listed.Files)
			if isSame && time.Since(began) >= patience {
				return paths, listed, lack
			}
			listed = next
		}
	}
}

// errWhole means that nothing is missing for sure.
var errWhole = errors.New("the files have all rows")

// lack returns an error for parts that are certainly missing, errWhole if nothing is missing, or nil if unknown.
func (f Folder) lack(ctx context.Context, listed Listing, items []Item, paths []string) (lack, err error) {
	rows, isKnown, err := countRows(f.FS, paths)
	switch {
	case err != nil:
		return nil, errtext.Errorf("the rows of the files cannot be counted: %v", err)
	case listed.Records != nil && isKnown && rows == *listed.Records:
		return errWhole, nil
	case len(paths) == 0 && listed.Records == nil:
		return errtext.Errorf("file download %s lists no files and has no number of records: check it with Get", f.Owner), nil
	case len(paths) == 0:
		return errtext.Errorf("file download %s has %d records but lists no files: check it with Get, or create another one", f.Owner, *listed.Records), nil
	case listed.Records != nil && isKnown:
		return errtext.Errorf("file download %s: its run has %d records, but its listed files (%d) have %d: "+
			"the service lists files after the run has completed, so call again later", f.Owner, *listed.Records, len(paths), rows), nil
	}
	numbers, isKnown, err := numbersOf(ctx, items)
	if err != nil || !isKnown {
		return nil, err
	}
	for i, number := range numbers {
		if i != number {
			return errtext.Errorf("file download %s does not list file %d of its run: "+
				"the service lists files after the run has completed, so call again later", f.Owner, i), nil
		}
	}
	return nil, nil
}

// numbersOf returns the numbers that the service has given the files, in order. The only file of a run without a limit
// of size has no number, and counts as 0. Not all servers say the names.
func numbersOf(ctx context.Context, items []Item) (numbers []int, isKnown bool, err error) {
	for _, item := range items {
		location, err := item.Locate(ctx)
		if err != nil {
			return nil, false, err
		}
		_, name, _ := strings.Cut(location.Query().Get("response-content-disposition"), "filename=")
		name, _, isExport := strings.Cut(strings.Trim(name, `"`), ".parquet")
		if !isExport {
			name, _, isExport = strings.Cut(name, ".jsonl")
		}
		if !isExport {
			return nil, false, nil
		}
		number, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
		if err != nil {
			number = 0
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers, true, nil
}
