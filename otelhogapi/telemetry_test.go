package otelhogapi_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/otelhogapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type observed struct {
	*otelhogapi.Telemetry
	tracer   trace.Tracer
	exporter *tracetest.InMemoryExporter
	reader   *sdkmetric.ManualReader
}

func observe(t testing.TB) *observed {
	o := &observed{exporter: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	spans := sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.exporter))
	telemetry, err := otelhogapi.New(&otelhogapi.Options{
		TracerProvider: spans, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader)),
		Server: "eu.posthog.com", CaptureServer: "eu.i.posthog.com:8443",
	})
	require.NoError(t, err)
	o.Telemetry, o.tracer = telemetry, spans.Tracer("test")
	return o
}

// metrics returns all points, by the name of the metric and the attributes.
func (o *observed) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(context.Background(), &all))
	points := map[string]float64{}
	add := func(name string, of attribute.Set, value float64) {
		points[name+"{"+of.Encoded(attribute.DefaultEncoder())+"}"] = value
	}
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, otelhogapi.Name, scope.Scope.Name)
		for _, m := range scope.Metrics {
			require.NotEmpty(t, m.Description, m.Name)
			require.NotEmpty(t, m.Unit, m.Name)
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Sum[int64]:
				require.True(t, data.IsMonotonic)
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name+".count", p.Attributes, float64(p.Count))
					add(m.Name+".sum", p.Attributes, p.Sum)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return points
}

func attributesOf(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

func clientOf(t testing.TB, server *hogapitest.Server, hooks hogapi.Hooks) *hogapi.Client {
	options := append(server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHooks(hooks))
	client, err := hogapi.NewClient(options...)
	require.NoError(t, err)
	return client
}

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := observe(t), hogapitest.New()
		export := server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "nightly"})
		server.Script(ops.BatchExportsGet, hogapitest.Status(503), hogapitest.Slow(300*time.Millisecond))
		client := clientOf(t, server, o.Hooks(t.Context()))

		ctx, parent := o.tracer.Start(t.Context(), "mine")
		begin := time.Now()
		_, err := client.BatchExports.Get(ctx, export)
		require.NoError(t, err)
		took := time.Since(begin)
		parent.End()

		spans := o.exporter.GetSpans()
		require.Len(t, spans, 4)
		first, second, call := spans[0], spans[1], spans[2]
		for _, s := range spans[:3] {
			require.Equal(t, parent.SpanContext().SpanID(), s.Parent.SpanID(), s.Name)
		}
		require.Equal(t, "GET /batch_exports/{id}/", first.Name)
		require.Equal(t, trace.SpanKindClient, first.SpanKind)
		require.Equal(t, codes.Error, first.Status.Code)
		require.Empty(t, first.Status.Description)
		want := map[string]any{
			"hogapi.op": "batch_exports.get", "http.request.method": "GET", "url.template": "/batch_exports/{id}/",
			"server.address": "eu.posthog.com", "http.response.status_code": int64(503), "error.type": "503",
		}
		require.Equal(t, want, attributesOf(first))

		want["http.response.status_code"], want["http.request.resend_count"] = int64(200), int64(1)
		delete(want, "error.type")
		require.Equal(t, want, attributesOf(second))
		require.Equal(t, codes.Unset, second.Status.Code)
		require.Equal(t, 300*time.Millisecond, second.EndTime.Sub(second.StartTime))
		require.False(t, second.StartTime.Before(first.EndTime))

		require.Equal(t, "hogapi batch_exports.get", call.Name)
		require.Equal(t, trace.SpanKindInternal, call.SpanKind)
		require.Equal(t, took, call.EndTime.Sub(call.StartTime))
		require.Equal(t, begin, call.StartTime)
		require.Equal(t, int64(2), attributesOf(call)["hogapi.call.tries"])

		const of = "hogapi.op=batch_exports.get,http.request.method=GET,http.response.status_code="
		const at = ",server.address=eu.posthog.com,url.template=/batch_exports/{id}/}"
		points := o.metrics(t)
		require.EqualValues(t, 1, points["http.client.request.duration.count{error.type=503,"+of+"503"+at], "%v", points)
		require.InDelta(t, 0.3, points["http.client.request.duration.sum{"+of+"200"+at], 1e-9)
		require.InDelta(t, took.Seconds(), points["hogapi.call.duration.sum{"+of+"200,url.template=/batch_exports/{id}/}"], 1e-9)
		wait := points["hogapi.call.retry.wait.sum{hogapi.op=batch_exports.get,hogapi.retry.reason=status 503}"]
		require.InDelta(t, took.Seconds()-0.3, wait, 1e-9)
	})
}

func TestFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := observe(t), hogapitest.New()
		export := server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "nightly"})
		client := clientOf(t, server, o.Hooks(t.Context()))
		kinds := map[string]string{}
		for name, c := range map[string]struct {
			fault   hogapitest.Fault
			timeout time.Duration
			cancel  time.Duration
		}{
			"404":      {hogapitest.Status(404, "a text"), time.Hour, time.Hour},
			"_OTHER":   {hogapitest.CutAfter(), time.Hour, time.Hour},
			"timeout":  {hogapitest.Slow(time.Hour), time.Second, time.Hour},
			"canceled": {hogapitest.Slow(time.Hour), time.Hour, time.Second},
		} {
			o.exporter.Reset()
			server.Script(ops.BatchExportsGet, c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			time.AfterFunc(c.cancel, cancel)
			_, err := client.BatchExports.Get(ctx, export)
			cancel()
			if name != "_OTHER" { // that call is repeated and succeeds
				require.Error(t, err)
			}
			first := o.exporter.GetSpans()[0]
			require.Equal(t, codes.Error, first.Status.Code, name)
			for _, secret := range []string{export.String(), "a text", "posthog.com/", "phx_"} {
				require.False(t, strings.Contains(o.everything(t), secret), "%s: %s", name, secret)
			}
			kinds[name] = fmt.Sprint(attributesOf(first)["error.type"])
		}
		require.Equal(t, map[string]string{"404": "404", "_OTHER": "_OTHER", "timeout": "timeout", "canceled": "canceled"}, kinds)
	})
}

// The caller chooses the path of Client.Do, and it may hold an id.
func TestDoHidesItsPath(t *testing.T) {
	o, server := observe(t), hogapitest.New()
	client := clientOf(t, server, o.Hooks(t.Context()))
	_ = client.Do(t.Context(), hogapi.Request{Method: http.MethodGet, Path: "/insights/424242/"}, nil)
	spans := o.exporter.GetSpans()
	require.NotEmpty(t, spans)
	require.Equal(t, "GET", spans[0].Name)
	require.Equal(t, "hogapi do", spans[len(spans)-1].Name)
	require.NotContains(t, o.everything(t), "424242")
}

func (o *observed) everything(t *testing.T) string {
	var all metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(context.Background(), &all))
	return fmt.Sprintf("%+v\n%+v", o.exporter.GetSpans(), all)
}

const lines = `{"event":"ordered","distinct_id":"ann-secret","timestamp":"1999-01-01T00:00:00Z","properties":{"n":1}}
{"event":"ordered","distinct_id":"bob-secret","timestamp":"1999-01-02T00:00:00Z","properties":{"n":2}}
{"event":"ordered","distinct_id":"","timestamp":"1999-01-02T00:00:00Z","properties":{"n":3}}
`

func TestImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := observe(t), hogapitest.New()
		server.Script(ops.Capture, hogapitest.Status(503, "a text of the service"))
		ctx, parent := o.tracer.Start(t.Context(), "mine")
		client := clientOf(t, server, o.Hooks(ctx))

		path := t.TempDir() + "/events.jsonl"
		require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
		receipt, err := history.Import(ctx, client, history.JSONLines(path), &history.Options{
			ID: "history", Total: 3, MaxRejectShare: -1, OnProgress: o.Progress(ctx, "history"),
			Checkpoint: history.CheckpointFile(t.TempDir() + "/checkpoint"),
			Rejects:    history.RejectFile(t.TempDir() + "/rejects.jsonl"),
		})
		require.NoError(t, err)
		require.EqualValues(t, 2, receipt.Acknowledged)
		o.Receipt(ctx, receipt)
		parent.End()

		var batches []tracetest.SpanStub
		for _, s := range o.exporter.GetSpans() {
			if s.Name == "hogapi import batch" {
				batches = append(batches, s)
			}
		}
		require.GreaterOrEqual(t, len(batches), 2)
		sent, failed := 0, 0
		for _, s := range batches {
			require.False(t, s.Parent.IsValid(), "a root")
			require.NotEqual(t, parent.SpanContext().TraceID(), s.SpanContext.TraceID())
			require.Len(t, s.Links, 1)
			require.Equal(t, parent.SpanContext().SpanID(), s.Links[0].SpanContext.SpanID())
			require.Equal(t, trace.SpanKindClient, s.SpanKind)
			a := attributesOf(s)
			require.Equal(t, "eu.i.posthog.com", a["server.address"])
			require.EqualValues(t, 8443, a["server.port"])
			require.Equal(t, "POST", a["http.request.method"])
			require.Positive(t, a["hogapi.import.batch.size"])
			require.Positive(t, a["hogapi.import.batch.wire_size"])
			if a["error.type"] == "503" {
				failed++
				require.Equal(t, codes.Error, s.Status.Code)
			} else {
				sent += int(a["hogapi.import.batch.events"].(int64))
			}
		}
		require.Equal(t, 1, failed)
		require.Equal(t, 2, sent)

		points := o.metrics(t)
		for state, want := range map[string]float64{"acknowledged": 2, "rejected": 1, "unconfirmed": 0, "skipped": 0, "pending": 0} {
			got, ok := points["hogapi.import.events{hogapi.event.state="+state+",hogapi.import.id=history}"]
			require.True(t, ok, state)
			require.Equal(t, want, got, state)
		}
		require.EqualValues(t, 3, points["hogapi.import.total{hogapi.import.id=history}"])
		require.Len(t, receipt.Rejects, 1)
		for reason := range receipt.Rejects {
			require.EqualValues(t, 1, points["hogapi.import.rejects{hogapi.import.id=history,hogapi.reject.reason="+string(reason)+"}"])
		}
		const ok = "{http.request.method=POST,http.response.status_code=200,server.address=eu.i.posthog.com,server.port=8443}"
		require.EqualValues(t, 2, points["hogapi.import.batch.events"+ok])
		require.Positive(t, points["hogapi.import.batch.size"+ok])
		require.Positive(t, points["hogapi.import.checkpoint.duration.count{}"])
		for _, name := range []string{"resent", "in_flight", "memory", "permits", "throttled", "failing"} {
			require.Contains(t, points, "hogapi.import."+name+"{hogapi.import.id=history}")
		}

		all := o.everything(t)
		for _, secret := range []string{
			"ann-secret", "bob-secret", "a text of the service", "posthog.com/", hogapitest.DefaultProjectKey, "phx_", "phc_",
		} {
			require.False(t, strings.Contains(all, secret), secret)
		}
	})
}

func TestFailingSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t)
		progress := o.Progress(t.Context(), "history")
		since := time.Now()
		time.Sleep(90 * time.Second)
		progress(hogapi.Stats{FailingSince: since, Throttled: 5 * time.Second})
		points := o.metrics(t)
		require.EqualValues(t, 90, points["hogapi.import.failing{hogapi.import.id=history}"])
		require.EqualValues(t, 5, points["hogapi.import.throttled{hogapi.import.id=history}"])
		progress(hogapi.Stats{})
		require.EqualValues(t, 0, o.metrics(t)["hogapi.import.failing{hogapi.import.id=history}"])
	})
}

// Without options the global providers are used, which do nothing by themselves.
func TestDefaults(t *testing.T) {
	telemetry, err := otelhogapi.New(nil)
	require.NoError(t, err)
	server := hogapitest.New()
	client := clientOf(t, server, telemetry.Hooks(t.Context()))
	_, err = client.BatchExports.List(t.Context(), nil)
	require.NoError(t, err)
	telemetry.Progress(t.Context(), "")(hogapi.Stats{})
}

// The table in doc.go names every metric and attribute.
func TestDocNamesEverything(t *testing.T) {
	o, server := observe(t), hogapitest.New()
	hooks := o.Hooks(t.Context())
	client := clientOf(t, server, hooks)
	_, err := client.BatchExports.List(t.Context(), nil)
	require.NoError(t, err)
	hooks.OnCall(t.Context(), hogapi.CallRecord{Retry: "status 503"})
	hooks.OnBatch(hogapi.BatchInfo{Events: 1, Try: 2, StatusCode: 500})
	hooks.OnCheckpoint(hogapi.CheckpointInfo{})
	o.Progress(t.Context(), "history")(hogapi.Stats{Total: 1})
	o.Receipt(t.Context(), hogapi.Receipt{Rejects: map[hogapi.Reason]int64{"x": 1}})
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	doc := string(text)
	for _, s := range o.exporter.GetSpans() {
		for name := range attributesOf(s) {
			assert.Contains(t, doc, name)
		}
	}
	for point := range o.metrics(t) {
		name, _, _ := strings.Cut(point, "{")
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".count"), ".sum")
		assert.Contains(t, doc, name+" ")
	}
}
