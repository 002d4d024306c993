//go:build unix

package cli_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

// slowly writes an answer in pieces, so that a kill finds it under way.
func slowly(w http.ResponseWriter, text []byte) {
	for len(text) > 0 {
		n := min(len(text), 1+len(text)/4)
		_, _ = w.Write(text[:n])
		_ = http.NewResponseController(w).Flush()
		text = text[n:]
		time.Sleep(2 * time.Millisecond)
	}
}

// slowExport answers for both services: half of Amplitude's days are too large, one is empty.
func slowExport(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var b bytes.Buffer
	if day := q.Get("from_date"); day != "" {
		for i := range 300 {
			fmt.Fprintf(&b, `{"event":"seen","properties":{"time":%d,"distinct_id":"u-%d","$insert_id":"%s-%d"}}`+"\n", noonOf(day), i, day, i)
		}
		slowly(w, b.Bytes())
		return
	}
	start, end := q.Get("start"), q.Get("end")
	switch {
	case start[7]%2 == 1 && strings.HasSuffix(start, "T00") && strings.HasSuffix(end, "T23"):
		w.WriteHeader(http.StatusBadRequest)
		return
	case strings.HasPrefix(start, "20240304"):
		w.WriteHeader(http.StatusNotFound)
		return
	}
	archive := zip.NewWriter(&b)
	member, _ := archive.Create("1/1_" + start + "#1.json.gz")
	lines := gzip.NewWriter(member)
	for i := range 300 {
		fmt.Fprintf(lines, `{"event_type":"seen","user_id":"u-%d","$insert_id":"%s-%d"}`+"\n", i, start, i)
	}
	_ = lines.Close()
	_ = archive.Close()
	slowly(w, b.Bytes())
}

// contents are the files of an export.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "[am]*"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.Base(path)] = string(text)
	}
	return all
}

// Killed at any moment, again and again, a download leaves only files that are whole, and the same command ends with the bytes of
// one that was not disturbed.
func TestFetchKilled(t *testing.T) {
	t.Parallel()
	for vendor, kills := range map[string]int{"mixpanel": 8, "amplitude": 25} {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			p, requests := exporter(t, slowExport)
			p.Env = append(p.Env, "AMPLITUDE_API_KEY=key", "AMPLITUDE_SECRET_KEY="+exportSecret)
			args := []string{"fetch", vendor, "--from", "2024-03-01", "--to", "2024-03-09"}
			require.Zero(t, p.Run(t, append(args, "whole")...).Code)
			want := contents(t, filepath.Join(p.Dir, "whole"))
			undisturbed := requests.Swap(0)

			random := rand.New(rand.NewPCG(18, uint64(kills)))
			done, underWay, held := 0, 0, 0
			for done < kills {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(150))*time.Millisecond)
				cmd := p.Command(ctx, t, append(args, "killed")...) // killed with -9 when the context ends
				_ = cmd.Run()
				cancel()
				if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
					break // all is there
				}
				done++
				if _, err := os.Stat(filepath.Join(p.Dir, "killed", ".hogimport-fetch", "part")); err == nil {
					underWay++
				}
				have := contents(t, filepath.Join(p.Dir, "killed"))
				for name, text := range have {
					require.Equal(t, want[name], text, "a file with the name of a part is whole: "+name)
				}
				require.GreaterOrEqual(t, len(have), held, "what was whole stays")
				held = len(have)
			}
			require.Positive(t, underWay, "some kills were within a part")
			t.Logf("killed %d times, %d times within a part", done, underWay)
			r := p.Run(t, append(args, "killed")...)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, want, contents(t, filepath.Join(p.Dir, "killed")))
			// At most one answer is lost to a kill, and a range that is too large may be tried again.
			assert.LessOrEqual(t, requests.Load(), undisturbed+2*int64(done))
		})
	}
}

// Ctrl-C ends a download at once, and it resumes.
func TestFetchInterrupted(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 10)
	var isSlow atomic.Bool
	isSlow.Store(true)
	p, _ := exporter(t, func(w http.ResponseWriter, r *http.Request) {
		if isSlow.Load() && r.URL.Query().Get("from_date") == "2024-03-02" {
			_, _ = w.Write([]byte(`{"event":`))
			_ = http.NewResponseController(w).Flush()
			arrived <- struct{}{}
			<-r.Context().Done()
			return
		}
		dayOfEvents(w, r)
	})
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-03", "export"}
	cmd := p.Command(t.Context(), t, args...)
	finish := clitest.Start(t, cmd)
	<-arrived
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	r := finish()
	requireNoSecret(t, r)
	require.Equal(t, 4, r.Code, r.Stderr)
	assert.Contains(t, r.Stderr, "run the same command again: it downloads what is not there yet")
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 1)

	isSlow.Store(false)
	r = p.Run(t, args...)
	require.Zero(t, r.Code, r.Stderr)
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 3)
}

// A disk that is full ends the download; with more room, the same command ends it.
func TestFetchOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount") // the nightly run takes that for a failure
	}
	p, _ := exporter(t, slowExport)
	dir := filepath.Join(p.Dir, "small")
	require.NoError(t, os.Mkdir(dir, 0o700))
	mount := func(options string, args ...string) {
		out, err := exec.Command("mount", append([]string{"-t", "tmpfs", "-o", options}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	mount("size=32k", "none", dir)
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-09", "small"}
	r := p.Ends(t, 1, args...)
	assert.Contains(t, r.Stderr, "small cannot be written: no space left on device")
	first := contents(t, dir)
	require.NotEmpty(t, first)

	mount("remount,size=1m", dir)
	r = p.Run(t, args...)
	require.Zero(t, r.Code, r.Stderr)
	all := contents(t, dir)
	require.Len(t, all, 9)
	for name, text := range first {
		require.Equal(t, text, all[name])
	}
}

// The same against the servers that were written from the vendors' documentation: the records of the range, each as often as there.
func TestFetchKilledAtTheVendors(t *testing.T) {
	t.Parallel()
	events := march(4000)
	a := newAmplitude(vendortest.AmplitudeOptions{Events: events, MaxBytes: 12 << 10})
	for range 20 {
		a.Script.Next(vendortest.Fault{Pause: 3 * time.Millisecond})
	}
	p := vendorProgram(t, a)
	args := append([]string{"fetch", "amplitude", "export"}, vendorRange...)
	random := rand.New(rand.NewPCG(18, 18))
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(100))*time.Millisecond)
		_ = p.Command(ctx, t, args...).Run()
		cancel()
	}
	r := p.Run(t, args...)
	require.Zero(t, r.Code, r.Stderr)
	requireExport(t, filepath.Join(p.Dir, "export"), events, inAmplitude(a))
}
