package hogapi_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// bubble is a test in virtual time.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// parallelBubble is a test in virtual time, beside others.
func parallelBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

// writeFile makes a file in a folder of the test.
func writeFile(t testing.TB, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// readFile returns the content of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func checkpointOnly(t *testing.T) hogapi.Checkpointer {
	return hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
}

// imported is the receipt of an import that ends well.
func imported(t *testing.T, client *hogapi.Client, source hogapi.Source, o *hogapi.ImportOptions) hogapi.Receipt {
	t.Helper()
	receipt, err := client.Import(t.Context(), source, o)
	require.NoError(t, err)
	return receipt
}

// newCapture makes a Capture of good options.
func newCapture(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) *hogapi.Capture {
	t.Helper()
	capture, err := client.NewCapture(&o)
	require.NoError(t, err)
	return capture
}

// enqueue gives a Capture the first n numbered events.
func enqueue(t *testing.T, capture *hogapi.Capture, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
	}
}

// closed is the receipt of a Capture that ends well.
func closed(t *testing.T, capture *hogapi.Capture) hogapi.Receipt {
	t.Helper()
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	return receipt
}

// keepRejects is a handler that keeps the rejects.
func keepRejects(all *[]hogapi.Reject) hogapi.RejectHandler {
	return hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
		*all = append(*all, r)
		return nil
	})
}

// stopOf is why an import has stopped.
func stopOf(t *testing.T, err error) *hogapi.StopError {
	t.Helper()
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	return stop
}

// requireInputError demands an error of the input.
func requireInputError(t *testing.T, err error) *hogapi.InputError {
	t.Helper()
	var input *hogapi.InputError
	require.ErrorAs(t, err, &input)
	return input
}
