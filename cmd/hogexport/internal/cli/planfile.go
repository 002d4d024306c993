package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/durable"
)

// planned is the plan of an export, and the file that keeps it.
type planned struct {
	*hogapi.RepairPlan

	file string
	text []byte // of the file when the plan was made or read
}

// unfit explains that a plan in the cache does not fit any more. A plan without a step under way is removed: its steps
// show in the coverage.
func (p planned) unfit(f *shell.Fault) *shell.Fault {
	f.Code, f.Todo = shell.CodeStopped, "the plan was removed: run the same command again, which makes another"
	kept, _, err := readPlan(p.file)
	if err == nil && count(kept, hogapi.RepairBegun) > 0 {
		f.Todo = "when the backfill that is under way has ended, which hogexport gaps shows, remove " + p.file + ", and run the same command again"
		return f
	}
	_ = os.Remove(p.file)
	return f
}

// hold lets one repair at a time change an export: of this user, with this cache. It refuses a plan whose file has
// changed since the plan was shown. The returned function ends it.
func (r *repair) hold(p planned) (release func(), err error) {
	folder := r.cacheOf(r.cache).folder
	name := filepath.Join(folder, p.ExportID.String()+".lock")
	var lock durable.Lock
	if err = makeFolder(folder); err == nil {
		lock, err = durable.OS{}.Lock(name)
	}
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, &shell.Fault{
			Code: shell.CodeStopped, Text: "another hogexport repairs " + term.Line(p.Name), Todo: "run the same command again when it has ended; nothing of this export was changed", Err: err,
		}
	case err != nil:
		r.Warn(fmt.Sprintf("another repair of %s is not kept away: %v", term.Line(p.Name), shell.Cause(err)))
		release = func() {}
	default:
		release = func() { _ = errors.Join(os.Remove(name), lock.Close()) }
	}
	if now, _ := durable.Read(durable.OS{}, p.file); !bytes.Equal(now, p.text) {
		release()
		return nil, &shell.Fault{Code: shell.CodeStopped, Text: p.file + " has changed since the plan was shown", Todo: "run the same command again; nothing of this export was changed"}
	}
	return release, nil
}

// readPlan reads a plan that --plan or an earlier run has written, and returns the text of the file too.
func readPlan(path string) (*hogapi.RepairPlan, []byte, error) {
	text, err := durable.Read(durable.OS{}, path)
	if err != nil {
		return nil, nil, shell.UsageError(fmt.Sprintf("%s: the plan cannot be read: %v", path, shell.Cause(err)), "give a file that hogexport repair --plan has written")
	}
	plan := &hogapi.RepairPlan{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil || decoder.More() || plan.ExportID == uuid.Nil || len(plan.Steps) > 0 && plan.Schedule == "" {
		return nil, text, shell.UsageError(path+": this is no plan of hogexport repair", "give a file that hogexport repair --plan has written")
	}
	return plan, text, nil
}

func isBegun(plan *hogapi.RepairPlan) bool {
	return count(plan, hogapi.RepairBegun, hogapi.RepairFailed) > 0
}

// checkReplaced refuses to replace the plan in a file by the plan of another export, and a plan that is under way: the
// file has the progress of the repair.
func checkReplaced(path string, plan *hogapi.RepairPlan) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // what is wrong with the path shows when the plan is written
	}
	old, _, err := readPlan(path)
	switch {
	case err != nil:
		return err
	case old.ExportID != plan.ExportID:
		return shell.UsageError(path+" has the plan of another export: "+term.Line(old.Name), "give --plan another FILE")
	case stepsLeft(old) > 0 && count(old, hogapi.RepairBegun, hogapi.RepairFailed, hogapi.RepairDone) > 0:
		return &shell.Fault{
			Code: shell.CodeUsage, Text: path + " has a plan that is under way", Todo: "give --plan another FILE",
			Next: []shell.Step{{Text: "Or continue it with:", Command: "hogexport repair --apply " + shell.Quoted(path)}},
		}
	}
	return nil
}

// stepsLeft counts the steps that a repair carries out.
func stepsLeft(plan *hogapi.RepairPlan) int { return count(plan, left...) }

// left are the states of steps that a repair carries out.
var left = []hogapi.RepairState{hogapi.RepairPlanned, hogapi.RepairBegun, hogapi.RepairFailed}

// count counts the steps in some states.
func count(plan *hogapi.RepairPlan, states ...hogapi.RepairState) (n int) {
	for _, s := range plan.Steps {
		if slices.Contains(states, s.State) {
			n++
		}
	}
	return n
}

// doneOf says how many of the steps that a repair carries out are done.
func doneOf(plan *hogapi.RepairPlan) string {
	done := count(plan, hogapi.RepairDone, hogapi.RepairCovered)
	return fmt.Sprintf("%d of %d steps done", done, done+stepsLeft(plan))
}

func savePlan(path string, plan *hogapi.RepairPlan) error {
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "give a file in another folder", Err: err}
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // the file, and not the link
	}
	if err := durable.Replace(durable.OS{}, path, append(text, '\n')); err != nil {
		return &shell.Fault{Code: shell.CodeStopped, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "make room, or give a file in another folder, and run the same command again", Err: err}
	}
	return nil
}
