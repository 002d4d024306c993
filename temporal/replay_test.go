package hogtemporal

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// This release must replay the histories that a real server recorded with earlier releases: otherwise a deploy breaks running imports.
// test/temporal records the histories; the file of an earlier release is never replaced.
func TestRecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	replay := func(file string, w any) error {
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: WorkflowType})
		return r.ReplayWorkflowHistoryFromJSONFile(nil, file)
	}
	for _, file := range files {
		require.NoError(t, replay(file, importWorkflow), file)
		require.NoError(t, replay(file, changedWorkflow), "%s: a change that is marked with a version", file)
		assert.Error(t, replay(file, unmarkedWorkflow), "%s: a change that is not", file)
	}
}

// unmarkedWorkflow is a change that breaks running imports.
func unmarkedWorkflow(ctx workflow.Context, p ImportParams, before *memory) (*Outcome, error) {
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	return importWorkflow(ctx, p, before)
}
