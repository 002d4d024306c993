package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

func TestCommandsExplainWhatIsWrong(t *testing.T) {
	for want, args := range map[string][]string{
		"requires at least 1 arg":                   {"start", "--id", "i"},
		`required flag(s) "id" not set`:             {"start", "file"},
		"want a number of events a second":          {"rate", "i", "fast"},
		"accepts 1 arg(s)":                          {"pause"},
		"--address and --namespace say where it is": {"status", "i", "--address", "127.0.0.1:1"},
	} {
		var out bytes.Buffer
		root := command(&out)
		root.SetArgs(args)
		require.ErrorContains(t, root.ExecuteContext(t.Context()), want)
	}
}

func server(t *testing.T, s hogtemporal.Status, status enums.WorkflowExecutionStatus) *mocks.Client {
	t.Helper()
	c := &mocks.Client{}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(s)
	require.NoError(t, err)
	c.On("DescribeWorkflowExecution", mock.Anything, "hogapi-import-i", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: status},
	}, nil)
	value := &mocks.Value{}
	value.On("Get", mock.Anything).Return(func(into any) error {
		return converter.GetDefaultDataConverter().FromPayloads(payloads, into)
	})
	c.On("QueryWorkflow", mock.Anything, "hogapi-import-i", "", "status").Return(value, nil)
	return c
}

func TestFollowingEndsAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out notes
	out.seen = func(text string) {
		if strings.Contains(text, "running") {
			cancel() // Ctrl-C
		}
	}
	c := server(t, hogtemporal.Status{ID: "i", State: hogtemporal.StateRunning}, enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	require.NoError(t, (&tool{out: &out}).followImport(ctx, c, "i"))
	assert.Contains(t, out.String(), "the import itself continues")
	c.AssertNotCalled(t, "CancelWorkflow", mock.Anything, mock.Anything, mock.Anything)
}

type notes struct {
	bytes.Buffer
	seen func(string)
}

func (n *notes) Write(p []byte) (int, error) {
	defer n.seen(string(p))
	return n.Buffer.Write(p)
}

func TestFollowUntilTheEnd(t *testing.T) {
	for state, want := range map[hogtemporal.State]string{hogtemporal.StateComplete: "", hogtemporal.StateCanceled: "canceled"} {
		var out bytes.Buffer
		c := server(t, hogtemporal.Status{ID: "i", State: state}, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		err := (&tool{out: &out}).followImport(t.Context(), c, "i")
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	c := &mocks.Client{}
	c.On("DescribeWorkflowExecution", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("no rows"))
	err := (&tool{out: &bytes.Buffer{}}).followImport(t.Context(), c, "i")
	require.ErrorIs(t, err, hogtemporal.ErrNotFound)
}

// The delivered files pass flags that the program has.
func TestDeliveredFiles(t *testing.T) {
	for _, name := range []string{"Dockerfile", "hogworker.service"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		worker, _, err := command(&bytes.Buffer{}).Find([]string{"worker"})
		require.NoError(t, err)
		assert.NotNil(t, worker.Flags().Lookup("store"))
		assert.Contains(t, string(text), "--store")
	}
}
