package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
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
	if err := decoder.Decode(plan); err != nil || len(plan.Steps) > 0 && plan.Schedule == "" {
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

// stepsLeft counts the steps that a repair carries out.
func stepsLeft(plan *hogapi.RepairPlan) (n int) {
	for _, s := range plan.Steps {
		if s.State == hogapi.RepairPlanned || s.State == hogapi.RepairBegun || s.State == hogapi.RepairFailed {
			n++
		}
	}
	return n
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
