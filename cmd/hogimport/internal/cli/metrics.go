package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// metrics are the numbers of a run, which Prometheus reads.
type metrics struct {
	*shell.Metrics

	id    string
	stats atomic.Pointer[hogapi.Stats]
}

func serveMetrics(ctx context.Context, address, id string) (m *metrics, err error) {
	m = &metrics{id: id}
	m.set(hogapi.Stats{})
	m.Metrics, err = shell.ServeMetrics(ctx, address, m.write)
	return m, err
}

func (m *metrics) set(s hogapi.Stats) { m.stats.Store(&s) }

func (m *metrics) write(w io.Writer) {
	s := m.stats.Load()
	label := fmt.Sprintf("{import=%q}", m.id)
	put := func(name, kind, help string, value any) {
		fmt.Fprintf(w, "# HELP hogimport_%s %s\n# TYPE hogimport_%s %s\nhogimport_%s%s %v\n", name, help, name, kind, name, label, value)
	}
	const gauge, counter = "gauge", "counter"
	put("records_read", gauge, "Records read, by all runs.", s.Read)
	put("records_acknowledged", gauge, "Records acknowledged by the service, by all runs.", s.Acknowledged)
	put("records_rejected", gauge, "Records in the reject file, by all runs.", s.Rejected)
	put("records_unconfirmed", gauge, "Records without an answer, by all runs.", s.Unconfirmed)
	put("records_skipped", gauge, "Records left out on purpose, by all runs.", s.Skipped)
	put("records_pending", gauge, "Records read and not yet settled.", s.Pending)
	put("records_expected", gauge, "Approximate number of records; 0: unknown.", s.Total)
	put("resent_total", counter, "Events in requests that repeat one.", s.Resent)
	put("requests_total", counter, "Requests of this run, each try.", s.Requests)
	put("sent_bytes_total", counter, "Bytes of all requests of this run, as sent.", s.WireBytes)
	put("throttled_seconds_total", counter, "Time for which the service asked this run to wait.", s.Throttled.Seconds())
	put("failing_since_seconds", gauge, "Unix time since which the service does not answer; 0: it answers.", unixOrZero(s.FailingSince))
	put("last_progress_seconds", gauge, "Unix time of the newest acknowledgement; 0: none yet.", unixOrZero(s.LastProgress))
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
