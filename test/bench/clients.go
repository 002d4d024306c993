package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/posthog/posthog-go"

	"github.com/hogapi/hogapi"
)

// prepare makes everything ready before the clock starts. The function that it returns sends all events of a job and returns after they
// are acknowledged, with the digest of their uuids if the client knows it.
type prepare func(job) (func() (digest string, err error), error)

type client struct {
	name    string
	prepare prepare
	zipped  bool
	derived bool // it makes the uuids itself
	v1      bool // by capture v1: each event has an answer
}

var clients = []client{
	{name: "posthog", prepare: preparePostHog(posthog.CaptureModeLegacy, false, false)},
	{name: "posthog-gzip", prepare: preparePostHog(posthog.CaptureModeLegacy, false, true), zipped: true},
	{name: "posthog-tuned", prepare: preparePostHog(posthog.CaptureModeLegacy, true, false)},
	{name: "posthog-tuned-gzip", prepare: preparePostHog(posthog.CaptureModeLegacy, true, true), zipped: true},
	{name: "naive", prepare: prepareNaive},
	{name: "limit", prepare: prepareLimit(false)},
	{name: "limit-gzip", prepare: prepareLimit(true), zipped: true},
	{name: "capture", prepare: prepareCapture(hogapi.ProtocolBatch, false, true)},
	{name: "capture-derived", prepare: prepareCapture(hogapi.ProtocolBatch, false, false), derived: true},
	{name: "capture-gzip", prepare: prepareCapture(hogapi.ProtocolBatch, true, true), zipped: true},
	{name: "capture-derived-gzip", prepare: prepareCapture(hogapi.ProtocolBatch, true, false), zipped: true, derived: true},
	{name: importClient, prepare: prepareImport(hogapi.ProtocolBatch), zipped: true},

	{name: "posthog-v1", prepare: preparePostHog(posthog.CaptureModeAnalyticsV1, true, false), v1: true},
	{name: "posthog-v1-gzip", prepare: preparePostHog(posthog.CaptureModeAnalyticsV1, true, true), zipped: true, v1: true},
	{name: "capture-v1", prepare: prepareCapture(hogapi.ProtocolV1, false, true), v1: true},
	{name: "capture-v1-gzip", prepare: prepareCapture(hogapi.ProtocolV1, true, true), zipped: true, v1: true},
	{name: "import-v1-gzip", prepare: prepareImport(hogapi.ProtocolV1), zipped: true, v1: true},
}

const importClient = "import-gzip"

func findClient(name string) (client, error) {
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == name })
	if i < 0 {
		return client{}, fmt.Errorf("there is no client %q", name)
	}
	return clients[i], nil
}

// peer and bound return the names of the clients with which a client is compared.
func (c client) peer() string {
	switch {
	case c.v1 && c.zipped:
		return "posthog-v1-gzip"
	case c.v1:
		return "posthog-v1"
	case c.zipped:
		return "posthog-tuned-gzip"
	}
	return "posthog-tuned"
}

func (c client) bound() string {
	if c.zipped {
		return "limit-gzip"
	}
	return "limit"
}

// measurement is the cost of one run of a client, from its first event until the last was acknowledged.
type measurement struct {
	Wall   time.Duration
	CPU    time.Duration // user and system, of the client's process
	Allocs uint64
	Bytes  uint64 // allocated
	Base   int64  // resident memory before
	Peak   int64
	Digest string
}

func measure(c client, j job) (m measurement, err error) {
	start, err := c.prepare(j)
	if err != nil {
		return m, err
	}
	runtime.GC()
	if j.Profile != "" {
		file, err := os.Create(j.Profile)
		if err != nil {
			return m, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return m, err
		}
		defer pprof.StopCPUProfile()
	}
	m.Base = residentMemory("VmRSS")
	before := usageNow()
	if m.Digest, err = start(); err != nil {
		return m, err
	}
	after := usageNow()
	m.Wall, m.CPU = after.at.Sub(before.at), after.cpu-before.cpu
	m.Allocs, m.Bytes = after.allocs-before.allocs, after.bytes-before.bytes
	m.Peak = residentMemory("VmHWM")
	return m, nil
}
