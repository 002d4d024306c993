package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func into(folder string, more ...string) func(context.Context, io.Writer, []string) error {
	return func(ctx context.Context, out io.Writer, args []string) error {
		return run(ctx, out, append(append(args, "-folder", folder), more...))
	}
}

func TestWithoutKeys(t *testing.T) {
	folder := t.TempDir()
	out := demotest.Run(t, nil, into(folder))
	assert.Contains(t, out, "Completed")
	assert.Contains(t, out, "1000 records in 1 files.")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Regexp(t, `\.jsonl\.gz$`, files[0])
}

func TestAnInterruptedDownloadIsRepeated(t *testing.T) {
	folder, server := t.TempDir(), hogapitest.New()
	content := bytes.Repeat([]byte("{}\n"), 100)
	download := hogapitest.FileDownload{Files: []hogapitest.File{{Content: content}}}
	id := server.Project(hogapitest.DefaultProject).AddFileDownload(download)
	server.Script(hogapitest.OpStorage, hogapitest.CutBody(100), hogapitest.Status(404))
	_, err := demotest.RunAt(t, server, into(folder, "-id", id.String()))
	require.ErrorContains(t, err, "the writer has ")

	out := demotest.Run(t, server, into(folder, "-id", id.String()))
	assert.Contains(t, out, "100 records in 1 files.")
	calls := server.Calls(hogapitest.OpStorage)
	assert.Empty(t, calls[len(calls)-1].Header.Get("Range"), "the file is begun again")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing else is left")
	assert.Empty(t, server.Calls(ops.FileDownloadsCreate))
}
