package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
)

// metrics serves the numbers of a run in the text form of Prometheus.
type metrics struct {
	address string // its URL
	id      string
	server  *http.Server

	mu    sync.Mutex
	stats hogapi.Stats
}

// serveMetrics listens at an address: on this machine only, unless it names another host.
func serveMetrics(ctx context.Context, address, id string) (*metrics, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, usageError(fmt.Sprintf("--metrics %s: cannot listen there: %v", address, err), "give a free address of this machine, such as :9464")
	}
	m := &metrics{address: "http://" + listener.Addr().String() + "/metrics", id: id}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.write(w)
	})
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := m.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return // the import matters more than its numbers
		}
	}()
	return m, nil
}

func (m *metrics) set(s hogapi.Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats = s
}

func (m *metrics) close() { _ = m.server.Close() }

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	s := m.stats
	m.mu.Unlock()
	label := fmt.Sprintf("{import=%q}", m.id)
	put := func(name, kind, help string, value any) {
		fmt.Fprintf(w, "# HELP hogimport_%s %s\n# TYPE hogimport_%s %s\nhogimport_%s%s %v\n", name, help, name, kind, name, label, value)
	}
	const gauge, counter = "gauge", "counter"
	put("records_read", gauge, "Records read, by all runs.", s.Read)
	put("records_acknowledged", gauge, "Records that the service has taken, by all runs.", s.Acknowledged)
	put("records_rejected", gauge, "Records in the reject file, by all runs.", s.Rejected)
	put("records_unconfirmed", gauge, "Records that no answer speaks of, by all runs.", s.Unconfirmed)
	put("records_skipped", gauge, "Records left out on purpose, by all runs.", s.Skipped)
	put("records_pending", gauge, "Records read and not yet settled.", s.Pending)
	put("records_expected", gauge, "About how many records there are; 0: not known.", s.Total)
	put("resent_total", counter, "Events in requests that repeat one.", s.Resent)
	put("requests_total", counter, "Requests of this run, each try.", s.Requests)
	put("sent_bytes_total", counter, "Bytes of all requests of this run, as sent.", s.WireBytes)
	put("throttled_seconds_total", counter, "Time for which the service asked this run to wait.", s.Throttled.Seconds())
	put("failing_since_seconds", gauge, "Unix time since which nothing gets through; 0: answers are good.", unixOrZero(s.FailingSince))
	put("last_progress_seconds", gauge, "Unix time of the newest acknowledgement; 0: none yet.", unixOrZero(s.LastProgress))
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
