package cli_test

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

const exportKey = "k3y-0123456789abcdef"

// vendorProgram is a program with the keys of a vendor's server in its environment.
func vendorProgram(t *testing.T, handler http.Handler) *clitest.Program {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p := clitest.New(t, nil)
	p.Env = []string{
		"HOGIMPORT_EXPORT_HOST=" + server.URL,
		"MIXPANEL_SERVICE_ACCOUNT=importer", "MIXPANEL_SERVICE_ACCOUNT_SECRET=" + exportSecret, "MIXPANEL_PROJECT_ID=77",
		"AMPLITUDE_API_KEY=" + exportKey, "AMPLITUDE_SECRET_KEY=" + exportSecret,
	}
	return p
}

// march are 12 days of events: some offline, some twice, some without an id.
func march(count int) []vendortest.Event {
	return vendortest.Generate(vendortest.GenerateOptions{
		From: time.Date(2024, 2, 25, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 3, 8, 0, 0, 0, 0, time.UTC),
		Count: count, Offline: 0.05, Duplicated: 0.03, NoID: 0.02, Seed: 18,
	})
}

func newMixpanel(o vendortest.MixpanelOptions) *vendortest.Mixpanel {
	o.ServiceUser, o.ServiceSecret, o.ProjectID = "importer", exportSecret, "77"
	return vendortest.NewMixpanel(o)
}

func newAmplitude(o vendortest.AmplitudeOptions) *vendortest.Amplitude {
	o.APIKey, o.SecretKey = exportKey, exportSecret
	return vendortest.NewAmplitude(o)
}

// records are the lines of all files of an export, by the beginning of their $insert_id.
func records(t *testing.T, dir string) map[string]int {
	t.Helper()
	ids := map[string]int{}
	read := func(r io.Reader) {
		lines := json.NewDecoder(r)
		for lines.More() {
			var record struct {
				ID         string `json:"$insert_id"`
				Properties struct {
					ID string `json:"$insert_id"`
				} `json:"properties"`
			}
			require.NoError(t, lines.Decode(&record))
			ids[(strings.TrimPrefix(record.ID, "ajs-") + record.Properties.ID)[:8]]++
		}
	}
	unpacked := func(r io.Reader) io.Reader {
		z, err := gzip.NewReader(r)
		require.NoError(t, err)
		return z
	}
	paths, err := filepath.Glob(filepath.Join(dir, "[am]*"))
	require.NoError(t, err)
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		if strings.HasSuffix(path, ".gz") {
			read(unpacked(f))
		} else {
			info, err := f.Stat()
			require.NoError(t, err)
			archive, err := zip.NewReader(f, info.Size())
			require.NoError(t, err)
			for _, member := range archive.File {
				r, err := member.Open()
				require.NoError(t, err)
				read(unpacked(r))
			}
		}
		require.NoError(t, f.Close())
	}
	return ids
}

// requireExport requires that the files have exactly the records of a range, as often as the vendor has them.
func requireExport(t *testing.T, dir string, events []vendortest.Event, isIn func(vendortest.Event) bool) {
	t.Helper()
	want := map[string]int{}
	for _, e := range events {
		if isIn(e) {
			want[e.ID[:8]] += max(e.Copies, 1)
		}
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, records(t, dir))
}

var vendorRange = []string{"--from", "2024-02-27", "--to", "2024-03-06"}

func inMixpanel(m *vendortest.Mixpanel) func(vendortest.Event) bool {
	return func(e vendortest.Event) bool { return m.Day(e) >= "2024-02-27" && m.Day(e) <= "2024-03-06" }
}

func inAmplitude(a *vendortest.Amplitude) func(vendortest.Event) bool {
	return func(e vendortest.Event) bool { return a.Hour(e) >= "20240227T00" && a.Hour(e) <= "20240306T23" }
}

// Every record of the range is there once, after any failure on the way, and no day is taken twice.
func TestFetchFromMixpanel(t *testing.T) {
	t.Parallel()
	pacific, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		options  vendortest.MixpanelOptions
		args     []string
		faults   map[string][]vendortest.Fault
		requests int
	}{
		"as usual":       {vendortest.MixpanelOptions{}, nil, nil, 9},
		"by three days":  {vendortest.MixpanelOptions{}, []string{"--days", "3"}, nil, 4},
		"an old project": {vendortest.MixpanelOptions{Zone: pacific}, []string{"--zone", "US/Pacific"}, nil, 9},
		"with faults": {vendortest.MixpanelOptions{}, nil, map[string][]vendortest.Fault{
			"2024-02-27": {{Cut: vendortest.CutLine}, {Cut: vendortest.CutTerminated}},
			"2024-02-28": {{Cut: vendortest.CutBody}, {Cut: vendortest.CutConnection}},
			"2024-02-29": {{Cut: vendortest.CutEmpty}, {Cut: vendortest.CutLine, At: 1}},
			"2024-03-01": {{Status: 500, Text: "sorry"}, {Status: 503, RetryAfter: 2 * time.Second}},
			"2024-03-02": {{Status: 429, RetryAfter: time.Second}, {Cut: vendortest.CutTerminated, At: 1}},
			"2024-03-03": {{Pause: 20 * time.Millisecond}},
			"2024-03-04": {{Cut: vendortest.CutTerminated, At: 0.0001}, {Cut: vendortest.CutBody, At: 0.999}},
		}, 9 + 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Events = march(4000)
			m := newMixpanel(c.options)
			for day, faults := range c.faults {
				m.Script.On(day, faults...)
			}
			p := vendorProgram(t, m)
			args := append(append([]string{"fetch", "mixpanel", "export"}, vendorRange...), c.args...)
			r := p.Run(t, args...)
			requireNoSecret(t, r)
			require.Zero(t, r.Code, r.Stderr)
			requireExport(t, filepath.Join(p.Dir, "export"), c.options.Events, inMixpanel(m))
			assert.Len(t, m.Log.All(), c.requests)
			assert.Zero(t, m.Script.Left())
			assert.Empty(t, m.Log.Twice())
			assert.LessOrEqual(t, m.Log.Most(time.Second), 3)
			for _, asked := range m.Log.All() {
				assert.Equal(t, 1, asked.Together)
				assert.Empty(t, asked.Error)
			}
		})
	}
}

func TestFetchFromAmplitude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options vendortest.AmplitudeOptions
		faults  map[string][]vendortest.Fault
		least   int
	}{
		"as usual":               {vendortest.AmplitudeOptions{}, nil, 9},
		"too large for a day":    {vendortest.AmplitudeOptions{MaxBytes: 12 << 10}, nil, 9 * 3},
		"small files":            {vendortest.AmplitudeOptions{PartRows: 7}, nil, 9},
		"few events, empty days": {vendortest.AmplitudeOptions{Events: march(30)}, nil, 9},
		"with faults": {vendortest.AmplitudeOptions{}, map[string][]vendortest.Fault{
			"20240227T05": {{Cut: vendortest.CutBody}},
			"20240228T05": {{Cut: vendortest.CutConnection}},
			"20240229T05": {{Cut: vendortest.CutEmpty}},
			"20240301T05": {{Status: 500, Text: "sorry"}, {Status: 503, RetryAfter: 2 * time.Second}},
			"20240302T05": {{Status: 504}, {Status: 504}, {Status: 504}},
			"20240303T05": {{Status: 429, RetryAfter: time.Second}},
			"20240304T05": {{Cut: vendortest.CutBody}, {Cut: vendortest.CutBody, At: 0.99}, {Cut: vendortest.CutBody, At: 0.01}},
		}, 9 + 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.options.Events == nil {
				c.options.Events = march(4000)
			}
			a := newAmplitude(c.options)
			for hour, faults := range c.faults {
				a.Script.On(hour, faults...)
			}
			p := vendorProgram(t, a)
			r := p.Run(t, append([]string{"fetch", "amplitude", "export"}, vendorRange...)...)
			requireNoSecret(t, r)
			require.Zero(t, r.Code, r.Stderr)
			requireExport(t, filepath.Join(p.Dir, "export"), c.options.Events, inAmplitude(a))
			assert.GreaterOrEqual(t, len(a.Log.All()), c.least)
			assert.Zero(t, a.Script.Left())
			assert.Empty(t, a.Log.Twice())
			if name == "few events, empty days" {
				assert.True(t, slices.ContainsFunc(a.Log.All(), func(r vendortest.Request) bool { return r.Status == http.StatusNotFound }))
				says(t, r.Stdout, "Files without an event: ")
			}
		})
	}
}

// Any pattern for the files in the folder imports the fetched files, also one that no shell has
// expanded.
func TestFetchedFilesByPattern(t *testing.T) {
	t.Parallel()
	events := march(300)
	for _, pattern := range []string{"export/*", "export/mixpanel-*.json.gz", "exp*/*"} {
		server, p := clitest.Serve(t)
		p.Env = append(p.Env, vendorProgram(t, newMixpanel(vendortest.MixpanelOptions{Events: events})).Env...)
		r := p.Run(t, "fetch", "mixpanel", "--days", "31", "--from", "2024-02-20", "--to", "2024-03-10", "export")
		require.Zero(t, r.Code, r.Stderr)
		r = p.Run(t, "run", pattern, "--format", "mixpanel", "--yes")
		require.Zero(t, r.Code, pattern+r.Stderr)
		want := slices.DeleteFunc(slices.Clone(events), func(e vendortest.Event) bool { return e.User+e.Device == "" })
		require.Equal(t, len(want), server.Ledger().Unique())
	}
}
