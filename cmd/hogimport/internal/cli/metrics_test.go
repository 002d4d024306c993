package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
)

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestMetricsAreServedWhileItRuns(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 6000, func(i int) bool { return i == 3 })
	cmd := p.Command(t.Context(), t, "run", "events.jsonl", "--yes", "--rate", "2000", "--metrics", ":0")
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	address := regexp.MustCompile(`Metrics are at (http://127\.0\.0\.1:\d+/metrics)\.`)
	require.Eventually(t, func() bool { return address.MatchString(out.String()) }, time.Minute, time.Millisecond, "of this machine only")
	url := address.FindStringSubmatch(out.String())[1]
	text := ""
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		text = string(raw)
		return err == nil && regexp.MustCompile(`records_acknowledged\{import="[^"]+"\} [1-9]`).MatchString(text)
	}, time.Minute, 20*time.Millisecond)
	assert.Contains(t, text, "# TYPE hogimport_requests_total counter\n")
	assert.Regexp(t, `(?m)^hogimport_records_rejected\{import="hogimport-events-[0-9a-f]+"\} 1$`, text)
	for line := range bytes.Lines([]byte(text)) {
		assert.Regexp(t, `^(# (HELP|TYPE) hogimport_[a-z_]+ .+|hogimport_[a-z_]+\{import="[^"]+"\} [0-9.e+-]+)\n$`, string(line))
	}
	require.NoError(t, cmd.Wait())
}
