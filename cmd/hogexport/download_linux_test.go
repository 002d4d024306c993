package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// downloads is a service of file downloads, made from PostHog's source and not from hogapitest. Its books are times of
// arrival. A run completes at once. Then its files are listed one by one, in any order, a moment apart.
type downloads struct {
	mu      sync.Mutex
	arrived []time.Time
	runs    map[string]*downloadRun
	created int
}

type downloadRun struct {
	rows  int
	ended time.Time
	files []downloadFile
}

type downloadFile struct {
	id      string
	content []byte
	listed  time.Time
}

const (
	rowsOfAFile = 4_000 // as max_size_mb splits them
	listEvery   = 300 * time.Millisecond
)

func (d *downloads) create(start, end time.Time) string {
	run := &downloadRun{ended: time.Now()}
	isRecentOnly := end.Sub(start) == 5*time.Minute // is_5_min_batch_export: the table of recent events, whatever the age
	var lines []string
	for i, at := range d.arrived {
		if !at.Before(start) && at.Before(end) && (!isRecentOnly || time.Since(at) < 9*24*time.Hour) {
			lines = append(lines, fmt.Sprintf(`{"event":"paid","uuid":%d}`, i)+"\n")
		}
	}
	run.rows = len(lines)
	for part := range slices.Chunk(lines, rowsOfAFile) {
		run.files = append(run.files, downloadFile{id: uuid.NewString(), content: []byte(strings.Join(part, ""))})
	}
	for i := range run.files { // the last one first
		run.files[i].listed = run.ended.Add(time.Duration(len(run.files)-1-i) * listEvery)
	}
	id := uuid.NewString()
	d.runs[id] = run
	d.created++
	return id
}

func (d *downloads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reply := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // maps of texts, numbers and lists
	}
	if id, isStored := strings.CutPrefix(r.URL.Path, "/storage/"); isStored {
		for _, run := range d.runs {
			for _, file := range run.files {
				if file.id == id {
					http.ServeContent(w, r, "rows.bin", run.ended, bytes.NewReader(file.content))
				}
			}
		}
		return
	}
	_, rest, isDownload := strings.Cut(r.URL.Path, "/file_download_batch_exports/")
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	run := d.runs[parts[0]]
	switch {
	case isDownload && r.Method == http.MethodPost && rest == "":
		var q struct {
			Start time.Time `json:"data_interval_start"`
			End   time.Time `json:"data_interval_end"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		reply(http.StatusAccepted, map[string]any{"id": d.create(q.Start, q.End)})
	case run == nil:
		reply(http.StatusForbidden, map[string]any{"type": "authentication_error", "code": "permission_denied", "detail": "API key missing required scope 'query:read'"})
	case len(parts) == 1:
		files := []string{}
		for _, file := range run.files {
			if !time.Now().Before(file.listed) {
				files = append(files, file.id)
			}
		}
		if len(files) == 0 && run.rows > 0 {
			reply(http.StatusOK, map[string]any{"status": "Running"})
			return
		}
		reply(http.StatusOK, map[string]any{"status": "Completed", "files": files, "records_completed": run.rows})
	default:
		http.Redirect(w, r, "http://"+r.Host+"/storage/"+parts[2], http.StatusFound)
	}
}

// A download of two weeks has all rows, though their files are listed after the runs have completed; one of 5 minutes a
// month ago has its rows, though the service reads recent events for it. A second call asks the service nothing.
func TestDownloadHasAllRows(t *testing.T) {
	t.Parallel()
	program, month := filepath.Join(build(t), "hogexport"), time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -30)
	service := &downloads{runs: map[string]*downloadRun{}}
	const all = 23_511
	for i := range all {
		service.arrived = append(service.arrived, month.Add(time.Duration(i)*(14*24*time.Hour/all)))
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	rows := func(from time.Time, length time.Duration) (n int) {
		folder := filepath.Join(t.TempDir(), "rows")
		for range 2 {
			before := service.created
			cmd := exec.CommandContext(t.Context(), program, "download", folder, "--yes", "--from", from.Format(time.RFC3339), "--to", from.Add(length).Format(time.RFC3339), "--format", "jsonl")
			cmd.Env = environment(server.URL, t.TempDir())
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			if n > 0 {
				assert.Equal(t, before, service.created)
			}
			files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
			require.NoError(t, err)
			n = 0
			for _, file := range files {
				content, err := os.ReadFile(file)
				require.NoError(t, err)
				n += bytes.Count(content, []byte("\n"))
			}
		}
		return n
	}
	assert.Equal(t, all, rows(month, 14*24*time.Hour))
	later := month.AddDate(0, 0, 15)
	for minute := range 4 {
		service.arrived = append(service.arrived, later.Add(time.Duration(minute)*time.Minute))
	}
	assert.Equal(t, 4, rows(later, 5*time.Minute))
}
