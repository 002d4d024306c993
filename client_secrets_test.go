package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/httptry"
)

// canaries are the secrets of these tests in every form that a verb or an encoder can give them.
var canaries = func() []string {
	var forms []string
	for _, secret := range []string{testPersonalKey, testProjectKey, testCredential} {
		core := secret[4:20] // enough to know it by, should a text be cut
		forms = append(forms, core, hex.EncodeToString([]byte(core)), strings.ToUpper(hex.EncodeToString([]byte(core))),
			strings.Trim(fmt.Sprint([]byte(core)), "[]"), strings.TrimSuffix(fmt.Sprintf("%#v", []byte(core))[7:], "}"))
		for from := range 3 {
			forms = append(forms, base64.RawStdEncoding.EncodeToString([]byte(core[from:from+12])))
		}
	}
	return forms
}()

const testCredential = "sec_CanaryCredential0123456789"

func requireNoSecretIn(t *testing.T, where, text string) {
	t.Helper()
	for _, c := range canaries {
		if at := strings.Index(text, c); at >= 0 {
			t.Fatalf("%s shows a secret as %q: …%.200s…", where, c, text[max(at-80, 0):])
		}
	}
}

// hidden holds a value where fmt cannot call its methods.
type hidden struct{ v any }

// requireSecretsHidden prints a value in every way that this package can be printed by accident.
func requireSecretsHidden(t *testing.T, v any) {
	t.Helper()
	requireSecretsHiddenIn(t, v, v, &v, []any{v}, [1]any{v}, map[string]any{"k": v}, struct{ V any }{v}, hidden{v}, &hidden{v}, []hidden{{v}}, map[string]hidden{"k": {v}})
}

// requireSecretsHiddenIn is for some of these ways.
func requireSecretsHiddenIn(t *testing.T, v any, forms ...any) {
	t.Helper()
	for _, form := range forms {
		where := fmt.Sprintf("%T within %T", v, form)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%T", "%10v", "% x"} {
			requireNoSecretIn(t, where+" under "+verb, fmt.Sprintf(verb, form))
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", form, slog.Group("g", "v", form))
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", form, slog.Group("g", "v", form))
		requireNoSecretIn(t, where+" in a log", log.String())
		if b, err := json.Marshal(form); err == nil {
			requireNoSecretIn(t, where+" as JSON", string(b))
		} else {
			requireNoSecretIn(t, where+": the error of JSON", err.Error())
		}
	}
	if err, ok := v.(error); ok {
		for ; err != nil; err = errors.Unwrap(err) {
			requireNoSecretIn(t, fmt.Sprintf("%T in a chain of errors", err), err.Error())
		}
	}
}

// ourPackages are the packages with types that hold a user's input and output: the root, and the types of its fields.
var ourPackages = []string{"", "/opt", "/destination", "/integration"}

func isOurs(t reflect.Type) bool {
	below, ok := strings.CutPrefix(t.PkgPath(), reflect.TypeFor[Client]().PkgPath())
	return ok && slices.Contains(ourPackages, below)
}

// ownValues finds every value of a type of these packages that can be reached from v, through unexported fields too.
type ownValues struct {
	seen  map[any]bool
	found map[reflect.Type][]any
}

func (o *ownValues) walk(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	typ := v.Type()
	switch v.Kind() {
	case reflect.Pointer:
		key := [2]any{typ, v.Pointer()}
		if v.IsNil() || o.seen[key] {
			return
		}
		o.seen[key] = true
		if isOurs(typ.Elem()) {
			o.found[typ] = append(o.found[typ], v.Interface())
			o.walk(v.Elem())
		}
	case reflect.Interface:
		o.walk(open(v.Elem()))
	case reflect.Struct:
		if !isOurs(typ) {
			return
		}
		if _, byPointer := reflect.PointerTo(typ).MethodByName("Format"); !byPointer || typ.Implements(reflect.TypeFor[fmt.Formatter]()) {
			o.found[typ] = append(o.found[typ], v.Interface()) // else it is used by its pointer, which was kept
		}
		if !v.CanAddr() {
			addressable := reflect.New(typ).Elem()
			addressable.Set(v)
			v = addressable
		}
		for _, field := range v.Fields() {
			o.walk(open(field))
		}
	case reflect.Slice, reflect.Array:
		o.name(v)
		for i := range min(v.Len(), 20) {
			o.walk(open(v.Index(i)))
		}
	case reflect.Map:
		o.name(v)
		for _, key := range v.MapKeys() {
			o.walk(open(v.MapIndex(key)))
		}
	default:
	}
}

// name keeps a value of a slice or map type of this package.
func (o *ownValues) name(v reflect.Value) {
	if isOurs(v.Type()) {
		o.found[v.Type()] = append(o.found[v.Type()], v.Interface())
	}
}

// open makes a value from an unexported field readable.
func open(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.CanInterface() {
		return v
	}
	if v.CanAddr() {
		return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	return reflect.Value{}
}

// No value of this package prints a secret, wherever it is held and however it is printed.
func TestNothingPrintsASecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var mu sync.Mutex
	var told []any
	tell := func(v any) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, v)
	}
	options := func() []Option {
		return []Option{
			WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
			WithHooks(Hooks{
				OnCall:  func(ctx context.Context, r CallRecord) { tell(r); tell(ctx) },
				OnBatch: func(e BatchInfo) { tell(e) },
			}),
		}
	}
	var roots []any
	synctest.Test(t, func(t *testing.T) {
		for _, failure := range echoes() {
			client := newFakeClient(t, newScript(failure), options()...)
			var reply Reply
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			roots = append(roots, client, client.ForProject("6"), client.ForProject(testPersonalKey), *client)
			var out struct{ At time.Time }
			err := create(ctx, client, WithReply(&reply))
			roots = append(roots, err)
			if !httptry.IsSuccess(reply.StatusCode) { // a success is handed over as it came
				roots = append(roots, reply)
			}
			roots = append(roots, client.Do(ctx, Request{Method: "GET", Path: "/x/"}, &out))
			_, err = collect(walkers["offset"](ctx, client, walkOptions{}))
			roots = append(roots, err)
			cancel()
			roots = append(roots, get(ctx, client))
		}
	})
	client := newFakeClient(t, newScript(answers(200, `{"status":"Ok"}`)), options()...)
	rows := newScript(answers(200, fmt.Sprintf(`{"count":1,"next":null,"results":[{"id":1,"name":[],"tags":%q,"folder":%q}]}`, testPersonalKey, testPersonalKey)))
	_, ofRow := newFakeClient(t, rows, options()...).Dashboards.List(t.Context(), nil)
	require.ErrorAs(t, ofRow, new(*RowError))
	roots = append(roots, ofRow)
	roots = append(roots, failedCapture(t, echoBody, options(), RejectFunc(func(_ context.Context, r Reject) error { tell(r); return nil }))...)
	roots = append(roots, failedCapture(t, echoBody, options(), nil)...)
	roots = append(roots, failedCapture(t, roundTrip(fails(errors.New("malformed answer: "+testProjectKey))), options(), nil)...)
	roots = append(roots, WithPersonalAPIKey(testPersonalKey), WithProjectAPIKey(testProjectKey), good(), client.core.clients.API(), client.core.clients.Capture())
	for _, bad := range [][]Option{good(WithPersonalAPIKey(testProjectKey)), good(WithProjectAPIKey(testPersonalKey)), good(WithProject(testProjectKey))} {
		_, err := NewClient(bad...)
		roots = append(roots, err)
	}
	roots = append(roots, RetryPolicy{}, NewSecret(testCredential), Set(NewSecret(testCredential)))
	roots = append(roots, ExportFilter{})
	for _, kind := range destination.Types() {
		config := readConfig(kind, json.RawMessage(`{}`))
		filled := reflect.New(reflect.TypeOf(config)).Elem()
		filled.Set(reflect.ValueOf(config))
		fill(filled, false)
		roots = append(roots, filled.Interface(), Destination{Type: kind, Config: filled.Interface().(destination.Config)},
			&BatchExport{Destination: Destination{Type: kind, Config: filled.Interface().(destination.Config)}},
			&BatchExportRequest{Destination: Destination{Type: kind, Config: filled.Interface().(destination.Config)}})
	}
	roots = append(append(roots, told...), OfDoors.Roots...)
	for _, zero := range append(plainTypes, OfDoors.Plain...) {
		full, raw := reflect.New(reflect.TypeOf(zero)), reflect.New(reflect.TypeOf(zero))
		fill(full.Elem(), false)
		roots = append(roots, full.Interface(), full.Elem().Interface())
		fill(raw.Elem(), true)
		v := raw.Elem().Interface()
		requireSecretsHiddenIn(t, v, v, &v, []any{v}, map[string]any{"k": v}, struct{ V any }{v}) // not in unexported fields: there fmt prints bytes of any type
	}

	values := ownValues{seen: map[any]bool{}, found: map[reflect.Type][]any{}}
	for _, root := range roots {
		requireSecretsHidden(t, root)
		values.walk(reflect.ValueOf(root))
		for err, _ := root.(error); err != nil; err = errors.Unwrap(err) {
			values.walk(reflect.ValueOf(err))
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				values.walk(reflect.ValueOf(joined.Unwrap()))
			}
		}
	}
	kinds := map[string]bool{}
	for typ, all := range values.found {
		name, _, _ := strings.Cut(strings.TrimPrefix(typ.String(), "*"), "[") // of a generic type any will do
		if _, bare, _ := strings.Cut(name, "."); !unicode.IsUpper(rune(bare[0])) {
			continue // nobody outside can hold one
		}
		kinds[name] = true
		for _, v := range all[:min(len(all), 5)] {
			requireSecretsHidden(t, v)
		}
	}
	for _, name := range exportedTypes(t) {
		assert.True(t, kinds[name], "%s was not reached: give it to this test in roots", name)
	}
	t.Logf("%d types", len(kinds))
	require.NotEmpty(t, log.String())
	requireNoSecretIn(t, "the log", log.String())
}

var typeLine = regexp.MustCompile(`(?m)^type ([A-Z]\w*)(?:\[.*\])? (?:struct|map|\[\])`)

// exportedTypes are the names of all exported types that can hold something, from the sources: a new one cannot be forgotten.
func exportedTypes(t *testing.T) (names []string) {
	t.Helper()
	for _, below := range ourPackages {
		name := cmp.Or(strings.TrimPrefix(below, "/"), "hogapi")
		files, err := filepath.Glob("." + below + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range typeLine.FindAllStringSubmatch(string(text), -1) {
				if !strings.HasSuffix(file, "_test.go") {
					names = append(names, name+"."+found[1])
				}
			}
		}
	}
	require.Greater(t, len(names), 60)
	return names
}

// echoes are answers and failures that repeat the keys of the request.
func echoes() map[string]step {
	both := testPersonalKey + " " + testProjectKey
	escaped := strings.ReplaceAll(strings.ReplaceAll(both, "phx_", `ph\u0078_`), "Canary", `Can\u0061ry`)
	return map[string]step{
		"detail":       answers(403, `{"detail":"`+both+`","code":"`+testPersonalKey+`","attr":"`+testPersonalKey+`","type":"`+testProjectKey+`"}`),
		"escaped":      answers(401, `{"detail":"`+escaped+`"}`),
		"nested":       answers(400, `{"detail":{"config":["`+escaped+`"]}}`),
		"object":       answers(400, `{"detail":{"key":"`+both+`"}}`),
		"plain text":   answers(404, both),
		"HTML":         answers(502, "<html>"+both),
		"headers":      answers(429, "", "X-Request-Id", both, "Retry-After", "3600", "Www-Authenticate", both),
		"long id":      answers(400, "", "X-Request-Id", strings.Repeat("x", 490)+testPersonalKey),
		"redirect":     answers(307, "", "Location", "https://evil.example.com/?"+url.QueryEscape(both)),
		"bad redirect": answers(307, "", "Location", "http://[::1/"+both),
		"no JSON":      answers(200, both),
		"wrong type":   answers(200, `{"At":"`+testPersonalKey+`","results":"`+testPersonalKey+`"}`),
		"bad link":     answers(200, `{"results":[],"next":"%zz`+both+`"}`),
		"transport":    fails(fmt.Errorf("malformed HTTP response %q", both)),
		"URL":          fails(&url.Error{Op: "Get", URL: "https://us.posthog.com/" + both, Err: errors.New(both)}),
		"status line":  statusLine("HTTP/1.1 2x" + both),
		"header line":  statusLine("HTTP/1.1 200 OK\r\n" + both),
		"protocol":     statusLine(both),
	}
}

// statusLine is a real transport's reading of an answer that begins so.
func statusLine(line string) step {
	return func(r *http.Request) (*http.Response, error) {
		transport := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				_, _ = far.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(far, line+"\r\n\r\n")
			}()
			return near, nil
		}, DisableKeepAlives: true}
		return transport.RoundTrip(r)
	}
}

// echoBody refuses a batch and echoes up to 3,000 bytes of it, then both keys.
var echoBody = roundTrip(func(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	return answer(r, 400, string(body[:min(len(body), 3000)])+testProjectKey+testPersonalKey), err
})

// failedCapture is a capture that has sent and failed, with all that it says about it.
func failedCapture(t *testing.T, transport http.RoundTripper, options []Option, rejects RejectHandler) []any {
	client := newFakeClient(t, transport, options...)
	capture, err := client.NewCapture(&CaptureOptions{
		ID: "canary", Delivery: DeliveryOptions{Compression: CompressionNone, Tuning: Tuning{NoPreflight: true, MaxTries: 1}},
		Rejects: rejects,
	})
	require.NoError(t, err)
	for range 3 {
		_ = capture.Enqueue(t.Context(), Event{Name: "e", DistinctID: "d", Timestamp: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), UUID: uuid.New()})
	}
	receipt, err := capture.Close(t.Context())
	return []any{capture, capture.Stats(), receipt, err}
}

// plainTypes are the types that no call of this test comes by. They are filled with credentials wherever they can hold any.
var plainTypes = []any{
	FileDownload{}, FileDownloadRequest{}, FileOptions{}, CountRowsRequest{}, DownloadState{}, FolderOptions{},
	DashboardDetail{}, DashboardTile{}, DashboardTileError{}, IngestionWarning{}, IngestionWarningListOptions{}, WarningCount{}, WarningSample{},
	AppMetrics{}, MetricSeries{}, MetricTotals{}, MetricError{}, MetricErrorDetail{}, HistoricalExport{}, HistoricalExportDetail{}, AppMetricsOptions{},
	ErrorDetailsOptions{}, Backfill{}, BackfillProgress{}, BackfillTicket{}, BackfillListOptions{}, BatchExportUpdateRequest{}, UnpauseOptions{}, BackfillOptions{}, LookInfo{},
	Request{}, Dashboard{}, User{}, DashboardListOptions{}, CaptureOptions{}, Event{}, BackfillState{}, BackfillError{}, GateOptions{},
	CheckpointInfo{}, LogEntry{}, LogPage{}, LogOptions{}, OffsetPage[BatchExport]{}, CursorPage[BatchExport]{}, ListOptions{}, CursorOptions{},
	Run{}, RunListOptions{}, Timestamp{}, BackfillRange{}, WatchOptions{}, RunError{}, destination.Extra{}, destination.Raw{},
	Integration{}, IntegrationListOptions{}, RunCount{}, DestinationTest{}, DestinationTestResult{}, destination.RedshiftBucketAccess{},
	DataDeletion{}, DataDeletionRequest{},
	integration.AwsS3{}, integration.S3Compatible{}, integration.Snowflake{}, integration.Postgres{}, integration.RedshiftServer{},
	integration.Redshift{}, integration.BigQuery{}, integration.Databricks{}, integration.AzureBlob{},
}

// fill puts the credential into every field that can hold one, into raw JSON only where asked to, and something into all that leads there.
func fill(v reflect.Value, raw bool) {
	switch v.Type() {
	case reflect.TypeFor[Secret]():
		v.Set(reflect.ValueOf(NewSecret(testCredential)))
		return
	case reflect.TypeFor[destination.Raw]():
		if raw {
			v.Set(reflect.ValueOf(destination.Raw(`{"password":"` + testCredential + `"}`)))
		}
		return
	case reflect.TypeFor[destination.Extra]():
		if raw {
			v.Set(reflect.ValueOf(destination.Extra{"password": json.RawMessage(`"` + testCredential + `"`)}))
		}
		return
	case reflect.TypeFor[destination.Config]():
		filled := reflect.New(reflect.TypeFor[destination.Postgres]())
		fill(filled.Elem(), raw)
		v.Set(filled.Elem())
		return
	case reflect.TypeOf(Set(true)).Field(1).Type: // the state of an Opt
		v.Set(open(reflect.ValueOf(new(Set(true))).Elem().Field(1)))
		return
	}
	switch {
	case v.Kind() == reflect.Struct && isOurs(v.Type()):
		for _, field := range v.Fields() {
			fill(open(field), raw)
		}
	case v.Kind() == reflect.Pointer && isOurs(v.Type().Elem()):
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), raw)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), raw)
	}
}

// Nothing that an import leaves behind has a key in it, though the service repeats both keys in every refusal.
func TestNoSecretInFiles(t *testing.T) {
	folder := t.TempDir()
	var log, hooks, progress bytes.Buffer
	var saved Position
	var mu sync.Mutex
	tell := func(e any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&hooks, "%+v %#v\n", e, e)
	}
	transport := newScript(fails(errors.New("no route for "+testProjectKey)), func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("refuse me")) {
			return answer(r, 400, `{"detail":"`+testPersonalKey+`","attr":"`+testProjectKey+`"}`+string(body[:min(len(body), 3000)]), "X-Request-Id", testProjectKey), err
		}
		return answer(r, 200, `{"status":"Ok","key":"`+testProjectKey+`"}`), err
	})
	client := newFakeClient(t, transport, WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), WithHooks(Hooks{
		OnBatch: func(e BatchInfo) { tell(e) },
		OnCheckpoint: func(e CheckpointInfo) {
			tell(e)
			saved = e.Position
		},
	}))
	var events []Event
	for i := range 20 {
		ev := Event{Name: "e", DistinctID: "d", Timestamp: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Position: Position{Key: "rules", Offset: int64(i + 1)}}
		switch i % 5 {
		case 1:
			ev.Name = "refuse me"
		case 2:
			ev.DistinctID = "" // the gate does
		}
		events = append(events, ev)
	}
	receipt, query, err := OfDoors.Import(t.Context(), client, events, folder, func(s Stats) { fmt.Fprintf(&progress, "%+v %v\n", s, s) }, DeliveryOptions{Compression: CompressionNone, Protocol: ProtocolBatch, Tuning: Tuning{Lanes: 1, NoPreflight: true}})
	require.NoError(t, err)
	require.EqualValues(t, 8, receipt.Rejected)
	asJSON, err := json.Marshal(receipt)
	require.NoError(t, err)
	requireNoSecretIn(t, "the receipt", receipt.String()+query+string(asJSON))
	require.Contains(t, log.String(), "batch")
	requireNoSecretIn(t, "the log", log.String())
	require.Equal(t, Position{Key: "rules", Offset: 20}, saved, "at the last checkpoint")
	require.Contains(t, hooks.String(), "no route for")
	requireNoSecretIn(t, "the hooks", hooks.String())
	require.NotEmpty(t, progress.String())
	requireNoSecretIn(t, "the progress", progress.String())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(left), 2)
	for _, entry := range left {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		requireNoSecretIn(t, entry.Name(), string(content))
	}
}

// If a program panics with a value of this package, the output has no key in it.
func TestNoSecretInAPanic(t *testing.T) {
	const task = "HOGAPI_TEST_PANIC"
	client := newFakeClient(t, newScript(answers(403, `{"detail":"`+testPersonalKey+`"}`)))
	_, err := client.BatchExports.Get(t.Context(), exportA)
	values := map[string]any{
		"error": err, "client": client, "copy": *client, "secret": NewSecret(testCredential), "optional": Set(NewSecret(testCredential)), "option": WithPersonalAPIKey(testPersonalKey),
		"config": destination.S3{AWSSecretAccessKey: Set(NewSecret(testCredential))}, "raw": destination.Raw(`{"password":"` + testCredential + `"}`),
	}
	if name := os.Getenv(task); name != "" {
		panic(values[name])
	}
	for name := range values {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoSecretInAPanic$")
		child.Env = append(os.Environ(), task+"="+name)
		output, err := child.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "panic: ")
		requireNoSecretIn(t, "a panic with "+name, string(output))
	}
}
