//go:build linux && (amd64 || arm64)

package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/testevents"
)

// distant is a bench with the importer on another host than the service. They use TLS, as users do: the package's own transport, with
// either version of HTTP.
type distant struct {
	*bench
	wire

	child *importChild
	begun atomic.Int64 // requests
	last  atomic.Int64 // when the newest began, in nanoseconds
}

var protocols = map[string]bool{"HTTP 1": false, "HTTP 2": true}

func newDistant(t *testing.T, lines int, http2 bool) *distant {
	t.Helper()
	d := &distant{wire: newWire(t), bench: newBench(t, lines, 200)}
	certificate, file := newCertificate(t, serverIP)
	server := d.wire.server.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.begun.Add(1)
		assert.Equal(t, http2, r.ProtoMajor == 2)
		d.last.Store(time.Now().UnixNano())
		d.bench.server.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.EnableHTTP2 = http2
	server.StartTLS()
	d.URL, d.MaxInFlight, d.MaxBatchEvents, d.Lanes = server.URL, 0, 100, 0
	d.child = newImportChild(t, d.Task, "SSL_CERT_FILE="+file, "NO_PROXY=*")
	return d
}

func (d *distant) start(t *testing.T) {
	t.Helper()
	require.NoError(t, d.client.do(d.child.Start))
	t.Cleanup(func() { _ = d.child.Process.Kill() }) // if the test has failed
}

// finish waits until the importer ends and requires that nothing is lost.
func (d *distant) finish(t *testing.T) {
	t.Helper()
	require.NoError(t, d.child.Wait(), "%s", d.child.out.String())
	report := d.child.report(t)
	d.requireExact(t, report)
	t.Logf("%d requests, %d events sent again, %d stored twice", d.begun.Load(), report.Receipt.Resent, d.bench.server.Ledger().Duplicates())
}

func (d *distant) resident(t *testing.T) int64 {
	t.Helper()
	size, err := testevents.Resident(strconv.Itoa(d.child.Process.Pid), "VmRSS")
	require.NoError(t, err)
	return size
}

// One packet in ten is lost, each way.
func TestImportOverALossyNetwork(t *testing.T) {
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDistant(t, testevents.Sized(2000, 5000, 20_000), http2)
			d.lose(0.1)
			d.start(t)
			d.finish(t)
		})
	}
}

// The network falls silent and comes back: the import continues within five seconds, nothing is lost, and meanwhile it takes no more
// memory than before. After a silence of 16 s, TCP itself would wait for another ten seconds. HTTP 1 cannot notice that a connection with
// a request in flight is dead, so there the import waits for the time limit of that try, a minute.
func TestImportOverAPartition(t *testing.T) {
	for name, lengths := range map[string][]time.Duration{
		"HTTP 1": testevents.Sized([]time.Duration{3 * time.Second}, []time.Duration{3 * time.Second, 60 * time.Second, 75 * time.Second}),
		"HTTP 2": testevents.Sized([]time.Duration{3 * time.Second, 16 * time.Second}, []time.Duration{3 * time.Second, 16 * time.Second, 60 * time.Second, 75 * time.Second}),
	} {
		for _, length := range lengths {
			t.Run(name+", "+length.String(), func(t *testing.T) {
				t.Parallel()
				d := newDistant(t, testevents.Sized(4000, 8000, 30_000), protocols[name])
				d.Rate = 1000
				d.start(t)
				require.Eventually(t, func() bool { return d.begun.Load() > testevents.Sized[int64](10, 100) }, time.Minute, 10*time.Millisecond)
				before := d.resident(t)
				d.cut()
				<-time.After(length)
				during := d.resident(t)
				d.heal()
				healed := time.Now()
				require.Eventually(t, func() bool { return d.last.Load() > healed.UnixNano() }, 2*time.Minute, 10*time.Millisecond)
				resumed := time.Unix(0, d.last.Load()).Sub(healed)
				t.Logf("resumed after %v; resident %.1f MiB before, %.1f MiB in the end of the silence", resumed, float64(before)/(1<<20), float64(during)/(1<<20))
				assert.Less(t, resumed, 5*time.Second)
				assert.Less(t, during, before+8<<20, "memory: as much as before, or what a busy machine has not reached then")
				d.finish(t)
			})
		}
	}
}

// newCertificate returns a server's certificate for an address, and the file that a client must trust.
func newCertificate(t *testing.T, ip string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(ip)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "certificate")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, file
}
