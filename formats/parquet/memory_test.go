//go:build linux

package parquet_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/hogapitest"
)

const mostResident = 256 << 20

const memoryVariable = "HOGAPI_PARQUET_MEMORY" // a file

// swallow answers every request and stores nothing.
type swallow struct{}

func (swallow) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, ProtoMajor: 1, ContentLength: 15, Request: r, Body: io.NopCloser(strings.NewReader(`{"status":"Ok"}`)),
	}, nil
}

// importAlone imports a file, and prints the greatest resident size of this process in bytes and
// the events.
func importAlone(path string) error {
	client, err := hogapi.NewClient(hogapi.WithRegion(hogapi.RegionEU), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
		hogapi.WithHTTPClient(&http.Client{Transport: swallow{}}))
	if err != nil {
		return err
	}
	source := parquet.FileSource(posthogexport.Format(nil), &parquet.Options{Columns: posthogexport.Columns()}, path)
	receipt, err := client.Import(context.Background(), source, &hogapi.ImportOptions{ID: "memory", Rate: hogapi.Unpaced})
	if err != nil {
		return err
	}
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	fmt.Println(kib<<10, receipt.Acknowledged)
	return err
}

// A file of 1 GiB in one row group takes less than 256 MiB.
func TestMemory(t *testing.T) {
	t.Parallel()
	rows := 100_000 // 100 MiB
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		rows *= 3
	case "deep":
		rows *= 10
	}
	path := filepath.Join(t.TempDir(), "large.parquet")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := parquetgo.NewGenericWriter[exported](file, parquetgo.PageBufferSize(1<<20), parquetgo.ColumnPageBuffers(parquetgo.NewFileBufferPool(t.TempDir(), "pages")))
	text := strings.Repeat("0123456789abcdef", 56)
	for i := range rows {
		r := exportOf(i)
		r.Timestamp, r.Properties = begin.Add(time.Duration(i)*time.Second/8), fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, text)
		_, err := w.Write([]exported{r})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	info, err := file.Stat()
	require.NoError(t, err)
	require.NoError(t, file.Close())

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), memoryVariable+"="+path)
	begun := time.Now()
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	var resident, events int
	_, err = fmt.Sscan(string(out), &resident, &events)
	require.NoError(t, err)
	assert.Equal(t, rows, events)
	assert.LessOrEqual(t, resident, mostResident)
	t.Logf("%d MiB, %d rows in one row group: %d MiB resident, %v", info.Size()>>20, rows, resident>>20, time.Since(begun).Round(time.Millisecond))
}
