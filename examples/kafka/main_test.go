package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// TestMain is the program itself when a test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("RECIPE_RUN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const (
	topic   = "history"
	records = 3000
	group   = "importer"
)

// setting is a cluster with a filled topic, a fake of the service, and the environment of the program.
type setting struct {
	cluster *kfake.Cluster
	server  *hogapitest.Server
	env     map[string]string
	good    []uuid.UUID
	bad     int
	ends    map[int32]int64
}

func set(t *testing.T) *setting {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, topic), kfake.SeedTopics(1, topic+".rejects"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	server := hogapitest.New()
	t.Cleanup(server.Close)
	s := &setting{cluster: cluster, server: server, ends: map[int32]int64{}, env: map[string]string{
		"POSTHOG_HOST": server.URL(), "POSTHOG_PROJECT_ID": hogapitest.DefaultProject, "POSTHOG_REGION": "",
		"POSTHOG_PERSONAL_API_KEY": hogapitest.DefaultPersonalKey, "POSTHOG_PROJECT_API_KEY": hogapitest.DefaultProjectKey,
		"KAFKA_BROKERS": strings.Join(cluster.ListenAddrs(), ","), "KAFKA_TOPIC": topic, "KAFKA_GROUP": group,
		"KAFKA_INSTANCE": "one",
	}}
	var list []*kgo.Record
	for i := range records {
		id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i))
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "person-%d", i%50), Value: fmt.Appendf(nil,
			`{"uuid":"%s","event":"ordered","distinct_id":"person-%d","timestamp":"2024-01-01T00:00:00Z","properties":{"n":%d}}`,
			id, i%50, i)}
		switch {
		case i%100 == 13:
			r.Value = r.Value[:40]
			s.bad++
		case i%100 == 14:
			r.Value = nil
		default:
			s.good = append(s.good, id)
		}
		list = append(list, r)
	}
	client := s.client(t)
	for _, result := range client.ProduceSync(t.Context(), list...) {
		require.NoError(t, result.Err)
		s.ends[result.Record.Partition] = max(s.ends[result.Record.Partition], result.Record.Offset+1)
	}
	require.Len(t, s.ends, 3)
	return s
}

func (s *setting) client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(s.cluster.ListenAddrs()...))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// start runs the program as a process.
func (s *setting) start(t *testing.T) (process *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	process, out = exec.Command(os.Args[0]), &bytes.Buffer{}
	process.Stdout, process.Stderr = out, out
	process.Env = append(os.Environ(), "RECIPE_RUN=1")
	for name, value := range s.env {
		process.Env = append(process.Env, name+"="+value)
	}
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() })
	return process, out
}

// committed returns the offsets that the group has committed.
func (s *setting) committed() map[int32]int64 {
	offsets := map[int32]int64{}
	if info := s.cluster.GroupInfo(group); info != nil {
		for partition, commit := range info.Commits[topic] {
			offsets[partition] = commit.Offset
		}
	}
	return offsets
}

// total returns the number of records before the committed offsets.
func (s *setting) total() (total int64) {
	for _, offset := range s.committed() {
		total += offset
	}
	return total
}

func (s *setting) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, time.Minute, 5*time.Millisecond, what)
}

// verify checks that PostHog has each event, and as one event.
func (s *setting) verify(t *testing.T) {
	t.Helper()
	ledger := s.server.Ledger()
	require.Zero(t, len(ledger.Missing(s.good)), "events are missing")
	require.Equal(t, len(s.good), ledger.Unique(), "what came twice is one event")
	require.Zero(t, len(ledger.Changed()))
}

// Killed again and again, the program loses nothing: everything is in PostHog or among the rejects.
func TestKilled(t *testing.T) {
	s := set(t)
	s.server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(30*time.Millisecond)))
	for kill := range 4 {
		process, out := s.start(t)
		enough, before := (kill+1)*400, s.total()
		s.wait(t, "events arrive", func() bool { return s.server.Ledger().Unique() >= enough })
		if kill == 1 { // the others are killed before anything is committed, or while it is
			s.wait(t, "offsets are committed", func() bool { return s.total() > before })
		}
		require.NoError(t, process.Process.Kill())
		require.Error(t, process.Wait(), "%s", out)
	}
	process, out := s.start(t)
	s.wait(t, "everything is committed", func() bool { return maps.Equal(s.committed(), s.ends) })
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait(), "%s", out)
	require.Contains(t, out.String(), "pending 0")

	ledger := s.server.Ledger()
	s.verify(t)
	t.Logf("%d events, %d of them sent again after a kill", ledger.Unique(), ledger.Duplicates())

	rejected := map[string]bool{}
	reader := s.client(t, kgo.ConsumeTopics(topic+".rejects"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for len(rejected) < s.bad {
		fetches := reader.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		for _, r := range fetches.Records() {
			require.False(t, json.Valid(r.Value))
			rejected[string(r.Headers[0].Value)] = true
		}
	}
	require.Len(t, rejected, s.bad)
}

// No event is lost when partitions move to another consumer.
func TestRebalance(t *testing.T) {
	s := set(t)
	s.server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(100*time.Millisecond)))
	first, firstOut := s.start(t)
	s.wait(t, "events arrive", func() bool { return s.server.Ledger().Unique() >= 200 })
	s.env["KAFKA_INSTANCE"] = "two"
	second, secondOut := s.start(t)
	s.wait(t, "both have partitions", func() bool {
		info := s.cluster.GroupInfo(group)
		return len(info.Members) == 2 && info.Members[0].NumAssigned() > 0 && info.Members[1].NumAssigned() > 0
	})
	s.wait(t, "everything is committed", func() bool { return maps.Equal(s.committed(), s.ends) })
	for _, process := range []*exec.Cmd{first, second} {
		require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	}
	require.NoError(t, first.Wait(), "%s", firstOut)
	require.NoError(t, second.Wait(), "%s", secondOut)
	s.verify(t)
}

// Every record is delivered twice, to two groups at once and through an outage: its event is the same.
func TestEveryRecordIsDeliveredTwice(t *testing.T) {
	s := set(t)
	s.server.Script(ops.Capture, hogapitest.Repeat(5, hogapitest.CutAfter()), hogapitest.Repeat(5, hogapitest.Status(503)))
	var processes []*exec.Cmd
	var outs []*bytes.Buffer
	for _, name := range []string{"again", group} {
		s.env["KAFKA_GROUP"], s.env["KAFKA_INSTANCE"] = name, name
		process, out := s.start(t)
		processes, outs = append(processes, process), append(outs, out)
	}
	s.wait(t, "everything is there twice", func() bool {
		return maps.Equal(s.committed(), s.ends) && s.server.Ledger().Len() >= 2*len(s.good)
	})
	for i, process := range processes {
		require.NoError(t, process.Process.Signal(syscall.SIGTERM))
		require.NoError(t, process.Wait(), "%s", outs[i])
	}
	s.verify(t)
}

// No offset is committed while the service takes no events.
func TestNothingIsCommittedUnsettled(t *testing.T) {
	s := set(t)
	for name, value := range s.env {
		t.Setenv(name, value)
	}
	s.server.Script(ops.Capture, hogapitest.Repeat(4, hogapitest.Status(503)))
	release := make(chan struct{})
	s.server.RejectEvents(func(json.RawMessage) int {
		<-release
		return 0
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, io.Discard) }()
	s.wait(t, "the service is asked", func() bool { return len(s.server.Calls(ops.Capture)) >= 4 })
	committed := func() bool { return len(s.committed()) > 0 }
	require.Never(t, committed, 2*time.Second, 50*time.Millisecond, "longer than the interval of commits")
	close(release)
	s.wait(t, "offsets are committed", func() bool { return len(s.committed()) == 3 })
	stop()
	require.NoError(t, <-ended)
}

// A Capture that stops ends the program with an error, and no offset of unsettled events is committed.
func TestWrongKey(t *testing.T) {
	s := set(t)
	s.env["POSTHOG_PROJECT_API_KEY"] = "phc_anotherKey0000000000000000000000000000000000"
	process, out := s.start(t)
	require.Error(t, process.Wait())
	require.Contains(t, out.String(), "key")
	require.NotContains(t, out.String(), "phc_another")
	require.Empty(t, s.committed())
}

func TestTrail(t *testing.T) {
	var tr trail
	add := func(partition int32, offset int64) {
		tr.add(&kgo.Record{Topic: "t", Partition: partition, Offset: offset})
	}
	add(0, 7)
	add(1, 3)
	add(0, 8)
	add(1, 4)
	got := tr.settled(hogapi.Position{Key: "t/0", Offset: 8})
	require.EqualValues(t, 9, got["t"][0].Offset)
	require.EqualValues(t, 4, got["t"][1].Offset, "the other partition's record before it is settled too")
	require.Nil(t, tr.settled(hogapi.Position{Key: "t/0", Offset: 8}), "a place that is not there")
	require.Len(t, tr.steps, 1)
}
