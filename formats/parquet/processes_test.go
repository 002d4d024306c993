//go:build linux

package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

const childVariable = "HOGAPI_PARQUET_CHILD" // URL, folder of the checkpoint, and files

// TestMain runs an import that its parent kills or weighs, or else the tests.
func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if _, err := importFiles(context.Background(), strings.Split(text, "\n")); err != nil {
			panic(err)
		}
		return
	}
	if path := os.Getenv(memoryVariable); path != "" {
		if err := importAlone(path); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func importFiles(ctx context.Context, args []string) (hogapi.Receipt, error) {
	client, err := hogapi.NewClient(hogapi.WithCaptureURL(args[0]), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey))
	if err != nil {
		return hogapi.Receipt{}, err
	}
	source := parquet.Files(posthogexport.Format(nil), &parquet.Options{Columns: posthogexport.Columns()}, args[2:]...)
	return history.Import(ctx, client, source, &history.Options{
		ID: "kills", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(filepath.Join(args[1], "checkpoint")),
		Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 500, MaxBatchEvents: 50, Lanes: 4}},
	})
}

// settledIn is how many records a checkpoint covers.
func settledIn(t *testing.T, folder string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	_, state, _ := bytes.Cut(raw, []byte{'\n'}) // the first line is a checksum
	return int(testevents.SavedReceipt(t, state).Read)
}

// An import that is killed again and again, at random moments, loses and changes nothing.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	kills, n := testevents.Sized(20, 40, 100), testevents.Sized(6000, 10_000, 20_000)
	server, want := hogapitest.New(), hogapitest.New()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		server.ServeHTTP(w, r)
	}))
	defer web.Close()
	folder := t.TempDir()
	args := []string{web.URL, folder, writeParquet(t, "a.parquet", exports(0, n*2/3), 700), writeParquet(t, "b.parquet", exports(n*2/3, n), 900)}
	killed := 0
	for k := range kills {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+strings.Join(args, "\n"))
		var out bytes.Buffer
		child.Stdout, child.Stderr = &out, &out
		require.NoError(t, child.Start())
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		place := n*k/(kills+2) + rand.IntN(n/(kills+2))
		for settledIn(t, folder) < place && len(ended) == 0 {
			time.Sleep(200 * time.Microsecond)
		}
		time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
		_ = child.Process.Kill()
		if err := <-ended; err != nil {
			require.ErrorContains(t, err, "signal: killed", out.String())
			killed++
		} else { // it was done
			require.Equal(t, n, settledIn(t, folder))
		}
	}
	require.GreaterOrEqual(t, killed, kills*9/10)
	receipt, err := importFiles(t.Context(), args)
	require.NoError(t, err)
	require.EqualValues(t, n, receipt.Acknowledged)
	require.Empty(t, server.Ledger().Changed(), "duplicates that are not the same")

	reference := httptest.NewServer(want)
	defer reference.Close()
	args[0], args[1] = reference.URL, t.TempDir()
	_, err = importFiles(t.Context(), args)
	require.NoError(t, err)
	require.Equal(t, n, want.Ledger().Unique())
	require.Equal(t, storedOf(want), storedOf(server))
	t.Logf("%d kills, %d events sent twice", killed, server.Ledger().Duplicates())
}

const maxResident = 256 << 20

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
	source := parquet.Files(posthogexport.Format(nil), &parquet.Options{Columns: posthogexport.Columns()}, path)
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "memory", Rate: hogapi.RateUnlimited})
	if err != nil {
		return err
	}
	peak, err := testevents.Resident("self", "VmHWM")
	fmt.Println(peak, receipt.Acknowledged)
	return err
}

// A file of 1 GiB in one row group takes less than 256 MiB.
func TestMemory(t *testing.T) {
	t.Parallel()
	rows := testevents.Sized(100_000, 300_000, 1_000_000) // 1 KiB each
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
	assert.LessOrEqual(t, resident, maxResident)
	t.Logf("%d MiB, %d rows in one row group: %d MiB resident, %v", info.Size()>>20, rows, resident>>20, time.Since(begun).Round(time.Millisecond))
}
