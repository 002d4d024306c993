package browser

import (
	"bufio"
	"bytes"
	"context"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func chromiumPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium here (Debian: apt-get install chromium)")
	return ""
}

func chromium(t *testing.T, args ...string) string {
	t.Helper()
	program := chromiumPath(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + t.TempDir()}, args...)
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Run(), "%s", &problems)
	return out.String()
}

// hogfake starts the command and returns its address. At the end of the test it is interrupted, as with Ctrl-C.
func hogfake(t *testing.T) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hogfake")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/hogapi/hogapi/hogapitest/cmd/hogfake").CombinedOutput()
	require.NoError(t, err, "%s", built)
	cmd := exec.Command(program, "-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "it ends with 0")
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(t, url, line)
	return url
}

func TestThePageInABrowser(t *testing.T) {
	chromium(t, "--dump-dom", "about:blank") // first: it may be missing
	url := hogfake(t)
	client, err := hogapi.NewClient(
		hogapi.WithBaseURL(url), hogapi.WithProject(hogapitest.DefaultProject),
		hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
	)
	require.NoError(t, err)
	events := filepath.Join(t.TempDir(), "events.jsonl")
	record := `{"event":"<img src=x onerror=document.title='hacked'>","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}` + "\n"
	require.NoError(t, os.WriteFile(events, []byte(strings.Repeat(record, 1234)), 0o600))
	_, err = client.Import(t.Context(), hogapi.JSONLinesFile(events), &hogapi.ImportOptions{ID: "browser", Rate: hogapi.Unpaced})
	require.NoError(t, err)

	dom := chromium(t, "--dump-dom", url)
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(dom, " ")
	for _, want := range []string{"hogfake E4", "Events to the lake", "SlowDown: reduce your request rate", "2024-05-01", "1,234", "&lt;img src=x", url} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, dom, "<img", "an event's name is text")
	assert.NotContains(t, text, "not shown", "no secret of a destination")

	shot := filepath.Join(t.TempDir(), "page.png")
	chromium(t, "--window-size=1250,1600", "--hide-scrollbars", "--screenshot="+shot, url)
	file, err := os.ReadFile(shot)
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	assert.Equal(t, 1250, picture.Bounds().Dx())
	colors := map[any]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 3 {
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			colors[picture.At(x, y)] = true
		}
	}
	assert.Greater(t, len(colors), 20, "it is not a blank page")
}
