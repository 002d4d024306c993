package hogapi_test

import (
	"compress/gzip"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/warnings"
)

// One question before the first event decides. Only the words of capture v1 mean capture v1.
func TestProtocolIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []hogapitest.Option
		faults  []hogapitest.Fault
		want    hogapi.Protocol
		warned  int64
		stop    hogapi.StopReason
		asked   int
	}{
		"a server that has it":      {want: hogapi.ProtocolV1, asked: 1},
		"one that has not":          {options: []hogapitest.Option{hogapitest.WithoutV1()}, want: hogapi.ProtocolBatch, asked: 1},
		"405":                       {faults: []hogapitest.Fault{hogapitest.Status(405)}, want: hogapi.ProtocolBatch, asked: 1},
		"a page":                    {faults: []hogapitest.Fault{hogapitest.HTML(200)}, want: hogapi.ProtocolBatch, warned: 1, asked: 1},
		"an Ok":                     {faults: []hogapitest.Fault{hogapitest.Status(200, `{"status":"Ok"}`)}, want: hogapi.ProtocolBatch, warned: 1, asked: 1},
		"another 400":               {faults: []hogapitest.Fault{hogapitest.Status(400, `{"error":"invalid_batch"}`)}, want: hogapi.ProtocolBatch, warned: 1, asked: 1},
		"403":                       {faults: []hogapitest.Fault{hogapitest.Status(403)}, want: hogapi.ProtocolBatch, warned: 1, asked: 1},
		"a redirect":                {faults: []hogapitest.Fault{redirect("https://elsewhere.example/")}, want: hogapi.ProtocolBatch, warned: 1, asked: 1},
		"401":                       {faults: []hogapitest.Fault{hogapitest.Status(401)}, stop: hogapi.StopUnauthorized, asked: 1},
		"an outage":                 {faults: []hogapitest.Fault{hogapitest.Repeat(5, hogapitest.Status(503))}, want: hogapi.ProtocolV1, asked: 6},
		"no connection at first":    {faults: []hogapitest.Fault{hogapitest.Refuse(), hogapitest.CutBefore(), hogapitest.CutAfter()}, want: hogapi.ProtocolV1, asked: 4},
		"429":                       {faults: []hogapitest.Fault{hogapitest.RateLimit("7")}, want: hogapi.ProtocolV1, asked: 2},
		"a long outage":             {faults: []hogapitest.Fault{hogapitest.Always(hogapitest.Status(503))}, stop: hogapi.StopNoProgress},
		"a host that never answers": {faults: []hogapitest.Fault{hogapitest.Always(hogapitest.Refuse())}, stop: hogapi.StopUnreachable},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New(test.options...)
			client := server.Client(t)
			server.Script(ops.Protocol, test.faults...)
			receipt, err := client.Import(t.Context(), numbered(100), &hogapi.ImportOptions{ID: "ask", Rate: hogapi.Unpaced})
			if test.asked > 0 {
				assert.Len(t, server.Calls(ops.Protocol), test.asked)
			}
			if test.stop != "" {
				assert.Equal(t, test.stop, stopOf(t, err).Reason, "%v", err)
				assert.Zero(t, receipt.Read)
				assert.Zero(t, server.Ledger().Len())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, receipt.Protocol)
			assert.Equal(t, test.warned, receipt.Warnings[warnings.Protocol])
			assert.EqualValues(t, 100, receipt.Acknowledged)
			requireWhole(t, server, 100)
			for _, r := range server.Ledger().Requests() {
				assert.Equal(t, string(test.want), r.Protocol)
			}
			assert.Empty(t, server.Breaches())
		}))
	}
}

// One import never mixes two protocols, even if the server changes.
func TestImportKeepsItsProtocol(t *testing.T) {
	t.Parallel()
	checkpoint := &memoryCheckpoint{}
	options := func(p hogapi.Protocol) *hogapi.ImportOptions {
		return &hogapi.ImportOptions{ID: "keeps", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Protocol: p}}
	}
	imported(t, hogapitest.New().Client(t), numbered(10), options(hogapi.ProtocolAuto))

	old := hogapitest.New(hogapitest.WithoutV1())
	receipt, err := old.Client(t).Import(t.Context(), numbered(20), options(hogapi.ProtocolAuto))
	assert.Equal(t, hogapi.StopNotFound, stopOf(t, err).Reason, "it does not change to /batch/")
	assert.Zero(t, old.Ledger().Len())
	assert.Equal(t, hogapi.ProtocolV1, receipt.Protocol)

	_, err = old.Client(t).Import(t.Context(), numbered(20), options(hogapi.ProtocolBatch))
	input := requireInputError(t, err)
	assert.Equal(t, "Delivery.Protocol", input.Field)
	assert.Contains(t, input.Want, `"v1", which the import began with`)

	newer := hogapitest.New()
	receipt = imported(t, newer.Client(t), numbered(20), options(hogapi.ProtocolAuto))
	assert.EqualValues(t, 20, receipt.Acknowledged)
	assert.Equal(t, 10, newer.Ledger().Len())
	assert.Empty(t, append(old.Calls(ops.Protocol), newer.Calls(ops.Protocol)...), "the checkpoint says it")
}

// A TryEnqueue that would have to wait for the answer takes nothing.
func TestTryEnqueueBeforeTheProtocolIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Protocol, hogapitest.SlowAnswer(time.Second))
		capture := newCapture(t, client, hogapi.CaptureOptions{})
		require.ErrorIs(t, capture.TryEnqueue(numberedEvent(1)), hogapi.ErrNotReady)
		time.Sleep(2 * time.Second) // virtual
		require.NoError(t, capture.TryEnqueue(numberedEvent(1)))
		receipt := closed(t, capture)
		assert.EqualValues(t, 1, receipt.Acknowledged)
	})
}

type plainGzip struct{}

func (plainGzip) Encoding() string             { return "gzip" }
func (plainGzip) NewWriter() hogapi.BodyWriter { return gzip.NewWriter(nil) }

// Bodies are compressed as the options say, for /batch/ with gzip always.
func TestEncoders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		delivery hogapi.DeliveryOptions
		want     string
	}{
		{hogapi.DeliveryOptions{}, "gzip"},
		{hogapi.DeliveryOptions{Encoder: hogapi.Gzip()}, "gzip"},
		{hogapi.DeliveryOptions{Encoder: plainGzip{}}, "gzip"},
		{hogapi.DeliveryOptions{Encoder: hogapi.Zstd()}, "zstd"},
		{hogapi.DeliveryOptions{NoCompression: true}, ""},
		{hogapi.DeliveryOptions{Encoder: hogapi.Zstd(), Protocol: hogapi.ProtocolBatch}, "gzip"},
	} {
		var encodings []string
		server := hogapitest.New()
		inner := server.Transport()
		client := server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.ContentLength > 300 {
				encodings = append(encodings, r.Header.Get("Content-Encoding"))
			}
			return inner.RoundTrip(r)
		})}))
		test.delivery.Lanes = 1
		receipt := imported(t, client, numbered(500), &hogapi.ImportOptions{ID: "encoded", Rate: hogapi.Unpaced, Delivery: test.delivery})
		assert.EqualValues(t, 500, receipt.Acknowledged)
		requireWhole(t, server, 500)
		require.NotEmpty(t, encodings)
		for _, e := range encodings {
			assert.Equal(t, test.want, e)
		}
	}
}
