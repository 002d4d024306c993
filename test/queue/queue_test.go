package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// kills is how often each program is killed.
func kills() int {
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		return 20
	case "deep":
		return 50
	}
	return 3
}

// Four programs read a queue that delivers every message at least twice, and are killed again and again, while requests fail. No event
// is lost, doubled or changed. The programs acknowledge messages after a Flush, return them to the queue while their events are
// under way, acknowledge them in OnSettled, or end a Capture and put its open events back.
func TestKilledBesideAQueue(t *testing.T) {
	for _, kind := range []string{"flush", "early", "settled", "put back"} {
		for protocol, options := range map[string][]hogapitest.Option{"v1": nil, "batch": {hogapitest.WithoutV1()}} {
			t.Run(kind+", "+protocol, func(t *testing.T) { killed(t, kind, hogapitest.New(options...)) })
		}
	}
}

func killed(t *testing.T, kind string, service *hogapitest.Server) {
	n := 150 * (kills() + 1)
	t.Cleanup(service.Close)
	service.Chaos(ops.Capture, rand.Uint64(), 0.2, hogapitest.CutAfter(), hogapitest.Status(503), hogapitest.CutBefore())
	url, messages, want := filled(t, n)
	environment := append(os.Environ(), "QUEUE_PROGRAM="+kind, "QUEUE_URL="+url, "QUEUE_CAPTURE="+service.URL())
	start := func() (*exec.Cmd, *bytes.Buffer) {
		process, out := exec.Command(os.Args[0]), new(bytes.Buffer)
		process.Env, process.Stdout, process.Stderr = environment, out, out
		require.NoError(t, process.Start())
		t.Cleanup(func() { _ = process.Process.Kill() })
		return process, out
	}
	wait := func(what string, out *bytes.Buffer, done func() bool) {
		require.Eventually(t, done, time.Minute, time.Millisecond, "%s: %s", what, out)
	}
	for range kills() {
		process, out := start()
		enough := service.Ledger().Len() + 1 + rand.IntN(150)
		wait("events arrive", out, func() bool { return service.Ledger().Len() >= enough || isEmpty(t, messages) })
		require.NoError(t, process.Process.Kill())
		require.ErrorContains(t, process.Wait(), "killed", "%s", out)
	}
	process, out := start()
	wait("everything is acknowledged", out, func() bool { return isEmpty(t, messages) })
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait(), "%s", out)

	ledger := service.Ledger()
	ids := map[string]uuid.UUID{}
	for ev := range ledger.Events() {
		var p struct{ N, I int }
		require.NoError(t, json.Unmarshal(ev.Properties, &p))
		key := fmt.Sprint(p.N, " ", p.I)
		if known, ok := ids[key]; ok {
			require.Equal(t, known, ev.UUID, "doubled: the event %s has two uuids", key)
		}
		ids[key] = ev.UUID
	}
	assert.Len(t, ids, want, "lost")
	assert.Equal(t, want, ledger.Unique())
	assert.Empty(t, ledger.Changed())
	assert.GreaterOrEqual(t, ledger.Len(), want)
	t.Logf("%d messages, %d events, %d rows, %d kills", n, want, ledger.Len(), kills())
}

// filled starts a server with a stream of n messages, with zero to two events each.
func filled(t *testing.T, n int) (url string, messages jetstream.Consumer, events int) {
	t.Helper()
	host, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	host.Start()
	t.Cleanup(host.Shutdown)
	require.True(t, host.ReadyForConnections(10*time.Second))
	connection, err := nats.Connect(host.ClientURL())
	require.NoError(t, err)
	t.Cleanup(connection.Close)
	js, err := jetstream.New(connection)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{strings.ToLower(stream)}})
	require.NoError(t, err)
	for i := range n {
		m := message{N: i, Events: (i + 1) % 3}
		events += m.Events
		data, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = js.Publish(t.Context(), strings.ToLower(stream), data)
		require.NoError(t, err)
	}
	messages, err = js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 500})
	require.NoError(t, err)
	return host.ClientURL(), messages, events
}

// isEmpty reports whether every message was delivered and acknowledged.
func isEmpty(t *testing.T, messages jetstream.Consumer) bool {
	info, err := messages.Info(t.Context())
	return err == nil && info.NumPending == 0 && info.NumAckPending == 0
}
