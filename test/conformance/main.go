// Command conformance gives the package the HTTP protocol of PostHog's public SDK harness, so that the harness can drive it and inspect
// its requests. It is for tests only: it sends live events, which an import should not, and only to this machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
)

const defaultPort = "8190"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a, err := newAdapter(os.Getenv("CONFORMANCE_PROTOCOL"), os.Getenv("CONFORMANCE_ENCODING"))
	if err == nil {
		err = run(ctx, os.Stdout, cmp.Or(os.Getenv("PORT"), defaultPort), a)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// newAdapter returns an adapter for a protocol, "batch" or "v1", and a compression. Both are settings of the process, because a test of
// the harness names neither.
func newAdapter(protocol, encoding string) (*adapter, error) {
	a := &adapter{protocol: hogapi.Protocol(cmp.Or(protocol, string(hogapi.ProtocolBatch)))}
	if a.protocol != hogapi.ProtocolBatch && a.protocol != hogapi.ProtocolV1 {
		return nil, fmt.Errorf("CONFORMANCE_PROTOCOL: want batch or v1, not %q", protocol)
	}
	a.compression = hogapi.Compression(cmp.Or(encoding, string(hogapi.CompressionGzip)))
	if a.compression != hogapi.CompressionGzip && a.compression != hogapi.CompressionZstd {
		return nil, fmt.Errorf("CONFORMANCE_ENCODING: want gzip or zstd, not %q", encoding)
	}
	return a, nil
}

// run serves the protocol on the loopback address until ctx ends.
func run(ctx context.Context, out io.Writer, port string, a *adapter) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())

	defer a.replace(nil) //nolint:contextcheck // it must work after ctx has ended
	server := &http.Server{Handler: a.handler(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
