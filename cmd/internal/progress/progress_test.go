package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type screen struct {
	*Meter
	strings.Builder
	at time.Time
}

func newScreen(form Form, width int) *screen {
	s := &screen{at: began}
	s.Meter = New(&s.Builder, form, func() int { return width }, func() time.Time { return s.at })
	return s
}

// run shows some seconds of an import that settles 1,000 records a second.
func (s *screen) run(seconds int, change func(*hogapi.Stats)) {
	for range 2 * seconds {
		s.at = s.at.Add(500 * time.Millisecond)
		done := s.at.Sub(began).Milliseconds()
		stats := hogapi.Stats{Read: done + 500, Acknowledged: done, Pending: 500, Total: 100_000}
		if change != nil {
			change(&stats)
		}
		s.Update(stats)
	}
}

func TestTheBarSaysHowFarItIsAndHowLongItTakes(t *testing.T) {
	s := newScreen(Bar, 80)
	s.run(25, func(stats *hogapi.Stats) { stats.Rejected = 12; stats.Acknowledged -= 12 })
	lines := strings.Split(s.String(), "\r")
	last := strings.TrimSuffix(lines[len(lines)-1], "\x1b[K")
	assert.Equal(t, "[===         ] 25%, 24,988 acknowledged, 12 rejected, 1,000/s, about 1m15s left", last)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\x1b[K")), 79)
	}
	s.End()
	assert.True(t, strings.HasSuffix(s.String(), "\n"), "the next text begins a line of its own")
}

func TestAWaitIsSaidSoonWithItsReasonAndSinceWhen(t *testing.T) {
	failing := func(stats *hogapi.Stats) {
		stats.LastError, stats.FailingSince = errors.New("hogapi: status 503"), began.Add(time.Second)
	}
	s := newScreen(Lines, 0)
	s.run(10, nil)
	before := strings.Count(s.String(), "\n")
	s.run(20, failing)
	assert.Equal(t, before+1, strings.Count(s.String(), "\n"), "one line soon, and no more within the minute")
	assert.Contains(t, s.String(), "waiting for 10s, since 12:00:01 UTC: status 503\n")
	s.run(1, nil)
	assert.Equal(t, before+2, strings.Count(s.String(), "\n"), "and one when it is over")
	for range 20 { // failures that come and go
		s.run(1, failing)
		s.run(1, nil)
	}
	assert.LessOrEqual(t, strings.Count(s.String(), "\n"), before+2+8, "but not one for each of them")
}

func TestALineAMinute(t *testing.T) {
	s := newScreen(Lines, 0)
	s.run(185, nil)
	lines := strings.Split(strings.TrimSpace(s.String()), "\n")
	require.Len(t, lines, 4)
	assert.Equal(t, "2026-03-01 12:00:00  0%, 500 acknowledged", lines[0])
	assert.Equal(t, "2026-03-01 12:01:00  60%, 60,500 acknowledged, 1,000/s, about 40s left", lines[1])
}

// The last line is shown however soon it follows another, with the number of records left out.
func TestTheEndIsShown(t *testing.T) {
	s := newScreen(Lines, 0)
	s.run(20, func(stats *hogapi.Stats) { stats.Skipped = 90_000 })
	s.run(1, func(stats *hogapi.Stats) { stats.Acknowledged, stats.Skipped = 10_000, 90_000 })
	s.End()
	lines := strings.Split(strings.TrimSpace(s.String()), "\n")
	require.Len(t, lines, 2)
	assert.Regexp(t, `^2026-03-01 12:00:21  100%, 10,000 acknowledged, 90,000 left out`, lines[1])
}

func TestALineForPrograms(t *testing.T) {
	s := newScreen(JSON, 0)
	s.run(2, nil)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(strings.Split(s.String(), "\n")[0]), &fields))
	assert.EqualValues(t, 500, fields["acknowledged"])
	assert.EqualValues(t, 100_000, fields["total"])
}

func TestWhatIsDoneBeforeTheFirstEvent(t *testing.T) {
	s := newScreen(Bar, 80)
	s.Phase("sorting: 1,000 read")
	s.at = s.at.Add(time.Minute)
	s.Phase("sorting: 2,000 read")
	assert.Contains(t, s.String(), "sorting: 2,000 read, 1m00s")
	s.run(2, nil)
	assert.Contains(t, s.String(), "acknowledged")
}

// The beginning and the end of a step are shown, however soon one follows the other.
func TestAStepIsShownAtOnce(t *testing.T) {
	for _, form := range []Form{Bar, Lines, JSON} {
		s := newScreen(form, 80)
		s.Step("counting; found 15,328 of 49,662")
		s.Phase("counting; found 30,000 of 49,662")
		s.Step("counting; found 49,662 of 49,662")
		s.Step("comparing uuids")
		assert.Contains(t, s.String(), "found 49,662 of 49,662")
		assert.Contains(t, s.String(), "comparing uuids")
		assert.NotContains(t, s.String(), "30,000", "what lies between is not")
	}
}

func TestSpans(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "59s": 59 * time.Second, "1m00s": time.Minute, "2h05m": 2*time.Hour + 5*time.Minute, "3d04h": 76 * time.Hour,
	} {
		assert.Equal(t, want, Span(d))
	}
	for want, d := range map[string]time.Duration{
		"0 s": 0, "42 s": 42 * time.Second, "5 min 3 s": 303 * time.Second, "15 min": 15 * time.Minute, "1 h": time.Hour, "24 h": 24 * time.Hour,
		"23 h 45 min": 23*time.Hour + 45*time.Minute + 4316*time.Millisecond, "3 days 4 h": 76 * time.Hour, "2 min": 119_800 * time.Millisecond,
	} {
		assert.Equal(t, want, Words(d))
	}
	assert.Equal(t, []string{"999 bytes", "1.5 KB", "123 MB", "12345 TB"}, []string{Bytes(999), Bytes(1500), Bytes(123_400_000), Bytes(12_345e12)})
	assert.Equal(t, []string{"0", "999", "1,000", "1,234,567", "-1,000"}, []string{Number(0), Number(999), Number(1000), Number(1_234_567), Number(-1000)})
}

// A server that never answers is named at once, also where no record was read yet.
func TestAWaitBeforeTheFirstRecordIsSaid(t *testing.T) {
	s := newScreen(Lines, 80)
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	s.Update(hogapi.Stats{LastError: fmt.Errorf("hogapi: capture: %w", refused), FailingSince: began})
	assert.Equal(t, "2026-03-01 12:00:00  0 acknowledged, waiting for 0s, since 12:00:00 UTC: connection refused (127.0.0.1:9)\n", s.String())
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "posthog.example", IsNotFound: true}}
	assert.Equal(t, "no such host (posthog.example)", reason(unknown))
}
