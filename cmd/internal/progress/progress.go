// Package progress shows the progress of an import: a bar on a terminal, otherwise a line a minute.
package progress

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// Form is the form in which progress is written.
type Form int

// Forms.
const (
	Bar   Form = iota // a line that is written over, on a terminal
	Lines             // a line of text a minute
	JSON              // a line of JSON a minute
)

// Meter writes the progress of an import. It is safe for concurrent use.
type Meter struct {
	out   io.Writer
	raw   io.Writer // the terminal that a bar is drawn on
	form  Form
	width func() int // of the terminal, in columns
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	pace     pace
	phase    string    // the work before events are sent; empty while they are sent
	written  time.Time // the last line, or bar
	began    time.Time
	waits    bool // the last line said so
	hasBar   bool // the bar is on the screen
	last     hogapi.Stats
	hasStats bool
	shown    string // the last line
}

// New returns a meter. It reads the width of a terminal each time that it draws a bar.
func New(out io.Writer, form Form, width func() int, now func() time.Time) *Meter {
	raw := out
	if screen, ok := out.(interface{ Raw() io.Writer }); ok {
		raw = screen.Raw()
	}
	return &Meter{out: out, raw: raw, form: form, width: width, now: now, began: now(), log: slog.New(slog.NewJSONHandler(out, nil))}
}

const (
	barInterval  = 400 * time.Millisecond
	lineInterval = time.Minute
	waitInterval = 5 * time.Second // before a line says that a wait has begun, or is over
)

// Update shows a snapshot. It is meant for history.Options.OnProgress.
func (m *Meter) Update(s hogapi.Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hasStats || s.Read > 0 {
		m.phase = ""
	}
	if s.Read > 0 {
		m.pace.add(m.now(), settled(s))
	}
	m.last, m.hasStats = s, true
	m.show(false)
}

// Phase shows the work before events are sent, such as sorting.
func (m *Meter) Phase(text string) { m.setPhase(text, false) }

// Part is Phase for a number of read records, of about total records; 0 if the total is not known.
func (m *Meter) Part(what string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pace.add(m.now(), done)
	m.phase = what + ": "
	if total > 0 {
		const most = 99 // it is not over yet
		m.phase += fmt.Sprintf("%d%%, ", min(100*done/total, most))
	}
	m.phase += Number(done) + " records read"
	if left := m.pace.remaining(done, total); left >= time.Second {
		m.phase += ", about " + Span(left) + " left"
	}
	m.show(false)
}

// Step is a Phase that is always shown, for the beginning and the end of a step.
func (m *Meter) Step(text string) { m.setPhase(text, true) }

func (m *Meter) setPhase(text string, must bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = text
	m.show(must)
}

// Say writes a line of text between the others.
func (m *Meter) Say(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	if m.form == JSON {
		m.log.Info(text)
		return
	}
	fmt.Fprintln(m.out, term.Flow(text))
	if m.form == Bar {
		m.show(true)
	}
}

// End shows the last snapshot and leaves the line.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hasStats {
		m.show(true)
	}
	if m.hasBar {
		fmt.Fprintln(m.raw)
	}
	m.hasBar = false
}

// show writes a bar or a line, if it is due or must be shown.
func (m *Meter) show(must bool) {
	now := m.now()
	interval := lineInterval
	if m.form == Bar {
		interval = barInterval
	}
	first := m.written.IsZero() && m.form != Bar
	if first && m.last.Read == 0 && m.last.LastError == nil && m.phase == "" {
		return // there is nothing to say yet
	}
	waits := m.last.LastError != nil
	if waits != m.waits {
		interval = min(interval, waitInterval)
	}
	if !must && !first && now.Sub(m.written) < interval {
		return
	}
	m.written, m.waits = now, waits
	switch m.form {
	case Bar:
		width := m.width() - 1
		fmt.Fprintf(m.raw, "\r%s\x1b[K", term.Cut(term.Line(m.Line(width)), width))
		m.hasBar = true
	case JSON:
		if line := m.Line(0); line != m.shown {
			m.shown = line
			m.log.Info("progress", m.fields()...)
		}
	default:
		if line := m.Line(0); line != m.shown {
			m.shown = line
			fmt.Fprintf(m.out, "%s  %s\n", now.UTC().Format(time.DateTime), term.Line(line))
		}
	}
}

// clear removes the bar, for a line of text in its place.
func (m *Meter) clear() {
	if m.hasBar {
		fmt.Fprint(m.raw, "\r\x1b[K")
		m.hasBar = false
	}
}

// Line returns the progress of the import, with a bar if it has a width.
func (m *Meter) Line(width int) string {
	s := m.last
	if m.phase != "" {
		return m.phase + ", " + Span(m.now().Sub(m.began))
	}
	if s.Read == 0 && s.LastError == nil {
		return "reading the files, " + Span(m.now().Sub(m.began))
	}
	share := -1.0
	if s.Total > 0 {
		share = min(float64(settled(s))/float64(s.Total), 1)
	}
	var parts []string
	if share >= 0 {
		parts = append(parts, fmt.Sprintf("%d%%", int(100*share)))
	}
	parts = append(parts, Number(s.Acknowledged)+" acknowledged")
	if n := s.Rejected + s.Unconfirmed; n > 0 {
		parts = append(parts, Number(n)+" rejected")
	}
	if s.Skipped > 0 && width == 0 {
		parts = append(parts, Number(s.Skipped)+" left out")
	}
	if s.LastError != nil {
		parts = append(parts, fmt.Sprintf("waiting for %s, since %s: %s", Span(m.now().Sub(s.FailingSince)),
			s.FailingSince.UTC().Format("15:04:05 UTC"), reason(s.LastError)))
		return strings.Join(parts, ", ")
	}
	if perSecond := m.pace.perSecond(); perSecond > 0 {
		parts = append(parts, Number(int64(perSecond+0.5))+"/s")
	}
	if left := m.pace.remaining(settled(s), s.Total); left >= time.Second {
		parts = append(parts, "about "+Span(left)+" left")
	}
	line := strings.Join(parts, ", ")
	const least, most = 8, 24
	if room := width - len(line) - 3; share >= 0 && room >= least {
		return bar(share, min(room, most)) + " " + line
	}
	return line
}

func (m *Meter) fields() []any {
	if !m.hasStats && m.phase != "" {
		return []any{"phase", m.phase}
	}
	s := m.last
	fields := []any{
		"read", s.Read, "acknowledged", s.Acknowledged, "rejected", s.Rejected, "unconfirmed", s.Unconfirmed, "skipped", s.Skipped, "pending", s.Pending,
		"resent", s.Resent, "total", s.Total, "rate", int64(m.pace.perSecond() + 0.5), "remaining_seconds", int64(m.pace.remaining(settled(s), s.Total).Seconds()),
	}
	if m.phase != "" {
		fields = append(fields, "phase", m.phase)
	}
	if s.LastError != nil {
		fields = append(fields, "waiting_for", reason(s.LastError), "waiting_since", s.FailingSince.UTC().Format(time.RFC3339))
	}
	return fields
}

// settled returns the number of records that need no more work.
func settled(s hogapi.Stats) int64 { return s.Acknowledged + s.Rejected + s.Unconfirmed + s.Skipped }

// reason says why requests fail. It begins with the cause, since a terminal may show no more.
func reason(err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.Err + " (" + name.Name + ")"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil && op.Err != nil {
		return fmt.Sprintf("%s (%s)", strings.TrimPrefix(op.Err.Error(), "connect: "), op.Addr)
	}
	return strings.TrimPrefix(err.Error(), "hogapi: ")
}

// pace is the speed at which records were settled in the last seconds.
type pace struct {
	points []point
}

type point struct {
	at      time.Time
	settled int64
}

// window is the time that the pace covers: long enough to be steady, short enough to show a change.
const window = 15 * time.Second

// add notes the number of settled records. Records that an earlier run has settled do not count.
func (p *pace) add(at time.Time, settled int64) {
	for len(p.points) > 1 && at.Sub(p.points[1].at) > window {
		p.points = p.points[1:]
	}
	if n := len(p.points); n > 1 && at.Sub(p.points[n-2].at) < window/30 {
		p.points[n-1] = point{at, settled} // twice a second is enough
		return
	}
	p.points = append(p.points, point{at, settled})
}

// perSecond returns the number of records that are settled in a second, or 0 if it is not known yet.
func (p *pace) perSecond() float64 {
	if len(p.points) < 2 {
		return 0
	}
	first, last := p.points[0], p.points[len(p.points)-1]
	if took := last.at.Sub(first.at).Seconds(); took > 0 {
		return float64(last.settled-first.settled) / took
	}
	return 0
}

// remaining returns the time for the rest at this pace, or 0 if it is not known.
func (p *pace) remaining(settled, total int64) time.Duration {
	perSecond := p.perSecond()
	if total <= settled || perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(total-settled) / perSecond * float64(time.Second))
}

// Number returns a number with separated thousands, such as 1,234,567.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Bytes is a size for people, such as 512 bytes, 1.5 KB or 12 GB.
func Bytes(n int64) string {
	size, unit := float64(n), "bytes"
	for _, larger := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, larger
	}
	if unit == "bytes" || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, unit)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// Read says how much queries have read and how much of the project's budget is left, or returns nothing if unknown.
func Read(bytes int64, left *int64) string {
	if left == nil {
		return ""
	}
	return fmt.Sprintf("read %s; %s of the project's hourly budget left", Bytes(bytes), Bytes(max(*left, 0)))
}

// Limit is a flag with a size, such as 500MB or 10 GB.
type Limit int64

// Set implements pflag.Value.
func (l *Limit) Set(text string) error {
	number, unit := strings.ToUpper(strings.ReplaceAll(text, " ", "")), 1.0
	for _, u := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}} {
		if rest, has := strings.CutSuffix(number, u.name); has {
			number, unit = rest, u.size
			break
		}
	}
	size, err := strconv.ParseFloat(number, 64)
	if err != nil || size <= 0 || size*unit >= math.MaxInt64 {
		return errors.New("give a number with a unit, such as 500MB or 10GB")
	}
	*l = Limit(size * unit)
	return nil
}

// Type implements pflag.Value.
func (l *Limit) Type() string { return "size" }

func (l *Limit) String() string {
	if *l == 0 {
		return ""
	}
	return Bytes(int64(*l))
}

// Span returns a duration for people, such as 42s, 5m03s, 2h14m or 3d04h.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Words returns a duration in words, such as 42 s, 5 min, 2 h 14 min or 3 days 4 h.
func Words(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(large time.Duration, largeUnit string, small time.Duration, unit string) string {
		if small == 0 {
			return fmt.Sprintf("%d %s", large, largeUnit)
		}
		return fmt.Sprintf("%d %s %d %s", large, largeUnit, small, unit)
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	case d < 10*time.Minute:
		d = d.Round(time.Second)
		return two(d/time.Minute, "min", d%time.Minute/time.Second, "s")
	case d < 2*day:
		d = d.Round(time.Minute)
		if d < time.Hour {
			return fmt.Sprintf("%d min", d/time.Minute)
		}
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "min")
	}
	d = d.Round(time.Hour)
	return two(d/day, "days", d%day/time.Hour, "h")
}

// bar returns a bar of a width for a share from 0 to 1.
func bar(share float64, width int) string {
	full := min(max(int(share*float64(width)), 0), width)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "]"
}
