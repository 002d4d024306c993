package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
)

const statusHelp = `Show how far imports are, from their state folders. It sends nothing, and may be
run while an import is under way.`

func newStatusCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "status", Short: "Show how far imports are", Long: statusHelp, Args: cobra.NoArgs,
		Example: "  hogimport status\n  hogimport status --state hogimport-state/export --json",
		RunE:    func(*cobra.Command, []string) error { return a.status(dir) },
	}
	cmd.Flags().StringVar(&dir, "state", "", "the state `FOLDER` of one import; default: all below hogimport-state")
	return cmd
}

// standing is how far an import is.
type standing struct {
	State    string    `json:"state"`  // the folder
	Import   string    `json:"import"` // the ID
	Is       string    `json:"is"`     // running, waiting, complete, killed, not begun, or why it stopped
	Target   string    `json:"target"`
	Total    int64     `json:"total,omitempty"` // about
	Progress *snapshot `json:"progress,omitempty"`
	Rejects  string    `json:"rejects"` // the file
	Next     []string  `json:"next"`    // what to do next: commands, or a text
}

func (a *app) status(dir string) error {
	dirs := []string{dir}
	if dir == "" {
		dirs = stateFolders(stateRoot)
	}
	var all []standing
	for _, dir := range dirs {
		s := &state{dir: dir}
		switch found, err := s.read("import.json", &s.kept); {
		case err != nil:
			return err
		case !found:
			return notAState(dir)
		}
		one, err := s.standing(time.Now())
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if a.json {
		return json.NewEncoder(a.stdout).Encode(append([]standing{}, all...))
	}
	if len(all) == 0 {
		fmt.Fprintf(a.stdout, "No import has begun below %s; hogimport run begins one.\n", stateRoot)
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE FOLDER\tSTATUS\tACKNOWLEDGED\tREJECTED\tTOTAL (EST.)")
	for _, one := range all {
		p := one.Progress
		if p == nil {
			p = &snapshot{}
		}
		of := "?"
		if one.Total > 0 {
			of = progress.Number(one.Total)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", one.State, one.Is, progress.Number(p.Acknowledged), progress.Number(p.Rejected+p.Unconfirmed), of)
	}
	_ = table.Flush()
	for _, one := range all {
		if p := one.Progress; p != nil && p.WaitingFor != "" && one.Is == isWaiting {
			fmt.Fprintln(a.stdout, wrapped(fmt.Sprintf("%s waits since %s: %s", one.State, p.Since.UTC().Format(time.DateTime+" UTC"), p.WaitingFor)))
		}
	}
	for _, one := range all {
		for i, next := range one.Next {
			if i == 0 {
				fmt.Fprintf(a.stdout, "Next for %s:\n", one.State)
			}
			fmt.Fprintln(a.stdout, "  "+next)
		}
	}
	return nil
}

// stateFolders are the folders below one that have the state of an import, with those of their fixes.
func stateFolders(root string) []string {
	var dirs []string
	for _, pattern := range []string{"*", "*/fix-*"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern, "import.json"))
		for _, path := range found {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// What an import is.
const (
	isRunning  = "running"
	isWaiting  = "waiting"
	isComplete = "complete"
	isKilled   = "killed"
	isNotBegun = "not begun"

	isInterrupted = "interrupted"
)

// stale is after how long a run that says nothing is over: it says something every two seconds.
const stale = 15 * time.Second

// standing is how far the import is.
func (s *state) standing(now time.Time) (standing, error) {
	one := standing{State: s.dir, Import: s.kept.ID, Target: s.kept.Target, Total: s.kept.Total, Rejects: s.rejects(), Is: isNotBegun, Next: []string{"the same command again"}}
	p, found, err := s.progress()
	if err != nil || !found {
		return one, err
	}
	one.Progress = &p
	switch {
	case p.Ended == isComplete:
		one.Is, one.Total, one.Next = isComplete, p.Read, nil
		switch isVerified, err := s.isVerified(); {
		case err != nil:
			return one, err
		case !isVerified:
			one.Next = append(one.Next, "hogimport verify --state "+s.dir)
		}
		if p.Rejected+p.Unconfirmed > 0 {
			one.Next = append(one.Next, "hogimport fix --state "+s.folder())
		}
	case p.Ended != "":
		one.Is = strings.ReplaceAll(p.Ended, "_", " ")
		if stop := stops[hogapi.StopReason(p.Ended)]; stop.code == codeProject {
			one.Next = []string{"the same command again, with the right project key"}
		}
	case now.Sub(p.At) > stale:
		one.Is = isKilled
	case p.WaitingFor != "":
		one.Is, one.Next = isWaiting, nil
	default:
		one.Is, one.Next = isRunning, nil
	}
	return one, nil
}
