package cli

import (
	"bytes"
	"encoding/json"
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
}

// readPlan reads a plan that --plan or an earlier run has written.
func readPlan(path string) (*hogapi.RepairPlan, error) {
	text, err := durable.Read(durable.OS{}, path)
	if err != nil {
		return nil, shell.UsageError(fmt.Sprintf("%s: the plan cannot be read: %v", path, shell.Cause(err)), "give a file that hogexport repair --plan has written")
	}
	plan := &hogapi.RepairPlan{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil || plan.ExportID == uuid.Nil || len(plan.Steps) > 0 && plan.Schedule == "" {
		return nil, shell.UsageError(path+": this is no plan of hogexport repair", "give a file that hogexport repair --plan has written")
	}
	return plan, nil
}

func isBegun(plan *hogapi.RepairPlan) bool {
	for _, s := range plan.Steps {
		if s.State == hogapi.RepairBegun || s.State == hogapi.RepairFailed {
			return true
		}
	}
	return false
}

// checkReplaced refuses to replace the plan in a file by the plan of another export, and a plan that is under way: the
// file has the progress of the repair.
func checkReplaced(path string, plan *hogapi.RepairPlan) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // what is wrong with the path shows when the plan is written
	}
	old, err := readPlan(path)
	switch {
	case err != nil:
		return err
	case old.ExportID != plan.ExportID:
		return shell.UsageError(path+" has the plan of another export: "+term.Line(old.Name), "give --plan another FILE")
	case stepsLeft(old) > 0 && slices.ContainsFunc(old.Steps, func(s hogapi.RepairStep) bool {
		return s.State == hogapi.RepairBegun || s.State == hogapi.RepairFailed || s.State == hogapi.RepairDone
	}):
		return shell.UsageError(path+" has a plan that is under way", "continue it with hogexport repair --apply "+shell.Quoted(path)+", or give --plan another FILE")
	}
	return nil
}

// stepsLeft counts the steps that a repair carries out.
func stepsLeft(plan *hogapi.RepairPlan) (n int) {
	for _, s := range plan.Steps {
		if s.State == hogapi.RepairPlanned || s.State == hogapi.RepairBegun || s.State == hogapi.RepairFailed {
			n++
		}
	}
	return n
}

// doneOf says how many of the steps that a repair carries out are done.
func doneOf(plan *hogapi.RepairPlan) string {
	done := 0
	for _, s := range plan.Steps {
		if s.State == hogapi.RepairDone || s.State == hogapi.RepairCovered {
			done++
		}
	}
	return fmt.Sprintf("%d of %d steps done", done, done+stepsLeft(plan))
}

func savePlan(path string, plan *hogapi.RepairPlan) error {
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "make room, or give another folder", Err: err}
	}
	if err := durable.Replace(durable.OS{}, path, append(text, '\n')); err != nil {
		return &shell.Fault{Code: shell.CodeStopped, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "make room, and run the same command again", Err: err}
	}
	return nil
}
