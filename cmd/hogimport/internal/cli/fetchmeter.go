package cli

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/fetch"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

// fetchMeter shows a download: on a terminal in one line, otherwise a line a minute, and each wait at once.
type fetchMeter struct {
	meter *progress.Meter
	log   *slog.Logger

	forPrograms bool // --log json

	now func() time.Time

	unit     string
	total    int
	held     int
	part     string
	received int64
	events   int64
	logged   time.Time
}

// Begin implements fetch.Progress.
func (m *fetchMeter) Begin(unit string, total, held int) {
	m.unit, m.total, m.held = unit, total, held
	if held > 0 {
		m.say(fmt.Sprintf("%s of %s %s are there already.", progress.Number(int64(held)), progress.Number(int64(total)), unit))
	}
}

// Asking implements fetch.Progress.
func (m *fetchMeter) Asking(part string) {
	m.part, _, _ = strings.Cut(part, " ") // its first day or hour
	m.show("at " + m.part)
}

// Received implements fetch.Progress.
func (m *fetchMeter) Received(n int) {
	m.received += int64(n)
	m.show("at " + m.part)
}

// Whole implements fetch.Progress.
func (m *fetchMeter) Whole(p fetch.Part, units int) {
	m.held += units
	m.events += p.Events
	m.show("at " + m.part)
}

// Waiting implements fetch.Progress.
func (m *fetchMeter) Waiting(reason string, until time.Time) {
	clock := until.UTC().Format("15:04:05 UTC")
	m.say(m.now().UTC().Format(time.DateTime) + "  " + reason + ": waiting until " + clock + ".")
	m.show("waiting")
}

// Notice implements fetch.Progress.
func (m *fetchMeter) Notice(text string) { m.say(text + ".") }

func (m *fetchMeter) say(text string) {
	if !m.forPrograms {
		text = term.Flow(text)
	}
	m.meter.Say(text)
}

// show shows how far the download is. Programs get numbers, once a minute.
func (m *fetchMeter) show(what string) {
	if m.forPrograms {
		if now := m.now(); now.Sub(m.logged) >= time.Minute {
			m.logged = now
			m.log.Info("progress", "doing", what, "unit", m.unit, "total", m.total, "there", m.held, "events", m.events, "bytes", m.received)
		}
		return
	}
	m.meter.Phase(fmt.Sprintf("%s of %s %s, %s, %s", progress.Number(int64(m.held)), progress.Number(int64(m.total)), m.unit, byteText(m.received), what))
}

func (m *fetchMeter) end() { m.meter.End() }
