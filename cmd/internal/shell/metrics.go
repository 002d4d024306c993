package shell

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Metrics serves numbers in the text form of Prometheus.
type Metrics struct {
	Address string // its URL
	server  *http.Server
}

// ServeMetrics listens at an address: on this machine only, unless the address names another host. It calls write
// for each request.
func ServeMetrics(ctx context.Context, address string, write func(io.Writer)) (*Metrics, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, UsageError(fmt.Sprintf("--metrics %s: cannot listen there: %v", address, err), "give a free address of this machine, such as :9464")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		write(w)
	})
	m := &Metrics{"http://" + listener.Addr().String() + "/metrics", &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	go func() { _ = m.server.Serve(listener) }() // the work matters more than its numbers
	return m, nil
}

// Close ends the server.
func (m *Metrics) Close() { _ = m.server.Close() }
