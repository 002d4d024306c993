//go:build linux && (amd64 || arm64)

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// host is a machine of its own as far as the network is concerned: a network namespace. It has no name, so it always ends with this
// process.
type host struct {
	t         *testing.T
	namespace *os.File
	ip        string
}

func newHost(t *testing.T, ip string) *host {
	t.Helper()
	h := &host{t: t, ip: ip}
	var err error
	onThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			h.namespace, err = os.Open("/proc/thread-self/ns/net")
		}
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.namespace.Close() })
	return h
}

// onThread runs a function on a thread that ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // forever
		f()
	}()
	<-done
}

// do runs a function on a thread of this host: sockets and processes that it creates stay on the host.
func (h *host) do(f func() error) (err error) {
	onThread(func() {
		if err = unix.Setns(int(h.namespace.Fd()), unix.CLONE_NEWNET); err == nil {
			err = f()
		}
	})
	return err
}

func (h *host) run(program string, arguments ...string) {
	h.t.Helper()
	var out []byte
	require.NoError(h.t, h.do(func() (err error) {
		out, err = exec.Command(program, arguments...).CombinedOutput()
		return err
	}), "%s %v: %s", program, arguments, out)
}

// serve returns a server on this host, to be started. It ends with the test.
func (h *host) serve(handler http.Handler) *httptest.Server {
	h.t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	require.NoError(h.t, h.do(func() (err error) {
		server.Listener, err = net.Listen("tcp4", h.ip+":0")
		return err
	}))
	h.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// dial is a DialContext for http.Transport. For an address without a name, it works only on the calling thread.
func (h *host) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.do(func() (err error) {
		conn, err = (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// wire is a client's host and a server's host, with a cable between them.
type wire struct{ client, server *host }

func newWire(t *testing.T) wire {
	t.Helper()
	needNetworks(t)
	w := wire{newHost(t, "10.77.0.1"), newHost(t, serverIP)}
	w.client.run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), w.server.namespace.Fd()))
	for _, h := range []*host{w.client, w.server} {
		h.run("ip", "address", "add", h.ip+"/24", "dev", "cable")
		h.run("ip", "link", "set", "cable", "up")
	}
	require.Eventually(t, func() bool {
		_, err := w.client.dial(t.Context(), "tcp4", serverIP+":1")
		return errors.Is(err, unix.ECONNREFUSED)
	}, 10*time.Second, 10*time.Millisecond, "the cable carries nothing")
	return w
}

const serverIP = "10.77.0.2"

// needNetworks skips a test if it cannot make networks. The nightly run counts this as a failure.
func needNetworks(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs the programs ip and iptables (Debian: iproute2 and iptables)")
		}
	}
}

// filter adds a rule for incoming packets of a host, for example "-p", "tcp", "-j", "DROP".
func (h *host) filter(rule ...string) {
	h.t.Helper()
	h.run("iptables", append([]string{"--wait", "--append", "INPUT"}, rule...)...)
}

func (h *host) heal() {
	h.t.Helper()
	h.run("iptables", "--wait", "--flush")
}

func (w wire) lose(share float64) {
	for _, h := range []*host{w.client, w.server} {
		h.filter("-m", "statistic", "--mode", "random", "--probability", fmt.Sprint(share), "-j", "DROP")
	}
}

func (w wire) cut() { w.lose(1) }

func (w wire) heal() {
	w.client.heal()
	w.server.heal()
}
