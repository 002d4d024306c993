package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/durable"
)

const statusHelp = `Show the progress of imports, from their state folders. status sends nothing,
and may run while an import is under way.`

func newStatusCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "status [PLAN]", Short: "Show the progress of imports", Long: statusHelp, Args: onlyPlan,
		Example: "  hogimport status\n  hogimport status migration.yaml\n  hogimport status --state hogimport-state/export --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := planned(args, cmd.Flags(), &dir); err != nil {
				return err
			}
			return a.status(dir)
		},
	}
	cmd.Flags().StringVar(&dir, "state", "", "the state `FOLDER` of one import; default: all below hogimport-state")
	return cmd
}

// standing is the progress of an import.
type standing struct {
	State    string    `json:"state"`  // the folder
	Import   string    `json:"import"` // the ID
	Is       string    `json:"is"`     // running, waiting, complete, killed, not begun, or why it stopped
	Target   string    `json:"target"`
	Total    int64     `json:"total,omitempty"` // about how much there is, links included
	IsExact  bool      `json:"exact,omitempty"` // Total is no estimate
	Progress *snapshot `json:"progress,omitempty"`
	Rejects  string    `json:"rejects"` // the file
	Next     []string  `json:"next"`    // advice: commands, or a text
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
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(append([]standing{}, all...))
	}
	if len(all) == 0 {
		fmt.Fprintf(a.Out, "No import has begun below %s; hogimport run begins one.\n", stateRoot)
		return nil
	}
	table := term.NewTable(a.Out)
	fmt.Fprintln(table, "STATE FOLDER\tSTATUS\tACKNOWLEDGED\tLEFT OUT\tREJECTED\tTO GO\tTOTAL")
	for _, one := range all {
		p := one.Progress
		if p == nil {
			p = &snapshot{}
		}
		refused := p.Rejected + p.Unconfirmed
		toGo, of := "?", "?"
		if one.Total > 0 { // an estimate can be too low
			total := max(one.Total, p.Read)
			toGo, of = one.shown(total-p.Acknowledged-p.Skipped-refused), one.shown(total)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", term.Line(one.State), one.Is, progress.Number(p.Acknowledged), progress.Number(p.Skipped), progress.Number(refused), toGo, of)
	}
	_ = table.Flush()
	for _, one := range all {
		if p := one.Progress; p != nil && p.WaitingFor != "" && one.Is == isWaiting {
			fmt.Fprintln(a.Out, term.Flow(fmt.Sprintf("%s waits since %s: %s", term.Line(one.State), p.Since.UTC().Format(time.DateTime+" UTC"), p.WaitingFor)))
		}
	}
	for _, one := range all {
		for i, next := range one.Next {
			if i == 0 {
				fmt.Fprintf(a.Out, "Next for %s:\n", term.Line(one.State))
			}
			fmt.Fprintln(a.Out, term.Command("  "+next))
		}
	}
	return nil
}

// shown returns a number, marked as an estimate if the total is one.
func (s *standing) shown(n int64) string {
	if s.IsExact {
		return progress.Number(n)
	}
	return "about " + progress.Number(n)
}

// stateFolders returns the state folders below a folder, including the folders of fixes.
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

// States of an import.
const (
	isRunning  = "running"
	isWaiting  = "waiting"
	isComplete = "complete"
	isKilled   = "killed"
	isNotBegun = "not begun"

	isInterrupted = "interrupted"
	isStopped     = "stopped"
)

// isRunning reports whether a process works in the folder: the lock ends with the process. If the lock cannot
// be taken, such as on a read-only disk, a run counts as over if it has not saved its progress for a while,
// which it does every two seconds.
func (s *state) isRunning(p snapshot, now time.Time) bool {
	const stale = 15 * time.Second
	lock, err := durable.OS{}.Lock(s.file(lockName))
	if err == nil {
		_ = lock.Close()
		return false
	}
	return errors.Is(err, durable.ErrLocked) || now.Sub(p.At) <= stale
}

// standing is how far the import is.
func (s *state) standing(now time.Time) (standing, error) {
	one := standing{State: s.dir, Import: s.kept.ID, Target: s.kept.Target, Total: s.kept.total(), IsExact: s.kept.isExact(), Rejects: s.rejects(), Is: isNotBegun, Next: []string{s.rerun()}}
	p, found, err := s.progress()
	if err != nil || !found {
		return one, err
	}
	one.Progress = &p
	switch {
	case p.Ended == isComplete:
		one.Is, one.Total, one.IsExact, one.Next = isComplete, p.Read, true, nil
		switch isVerified, err := s.isVerified(); {
		case err != nil:
			return one, err
		case !isVerified:
			one.Next = append(one.Next, "hogimport verify "+s.named())
		}
		of := &state{dir: s.folder()}
		if p.Rejected+p.Unconfirmed > 0 && !of.isFixed() {
			one.Next = append(one.Next, "hogimport fix "+of.named())
		}
	case p.Ended != "":
		one.Is = strings.ReplaceAll(p.Ended, "_", " ")
		one.Next = []string{meaningOf(hogapi.StopReason(p.Ended)).suspect.before + s.rerun()}
	case !s.isRunning(p, now):
		one.Is = isKilled
	case p.WaitingFor != "":
		one.Is, one.Next = isWaiting, nil
	default:
		one.Is, one.Next = isRunning, nil
	}
	return one, nil
}
