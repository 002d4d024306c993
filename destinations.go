package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Destination is the place that an export writes to. The service never returns its credentials.
type Destination struct {
	Type        destination.Type
	Config      destination.Config // nil if the service sends null
	Integration Opt[int64]         // id of the integration that holds the credentials; the newest servers nearly always need it

	raw  *sealed
	over func() Destination // set by With: returns the destination that it changes, where nothing that prints can look
}

// Raw returns the config as the service sent it; nil for a destination that was made here.
func (d Destination) Raw() json.RawMessage {
	if d.raw == nil {
		return nil
	}
	return slices.Clone(*d.raw.config)
}

// sealed keeps a config where fmt does not look: two pointers away.
type sealed struct{ config *json.RawMessage }

func (d *Destination) UnmarshalJSON(b []byte) error {
	var sent struct {
		Type        destination.Type `json:"type"`
		Config      json.RawMessage  `json:"config"`
		Integration json.RawMessage  `json:"integration"`
	}
	if err := json.Unmarshal(b, &sent); err != nil {
		return err
	}
	*d = Destination{Type: sent.Type}
	if len(sent.Config) > 0 && string(sent.Config) != "null" {
		d.raw = &sealed{&sent.Config}
		d.Config = readConfig(sent.Type, sent.Config)
	}
	if len(sent.Integration) > 0 {
		_ = configs.Loose(sent.Integration, &d.Integration) // of another shape: not sent again
	}
	return nil
}

var configTypes = map[destination.Type]reflect.Type{
	destination.TypeS3:           reflect.TypeFor[destination.S3](),
	destination.TypeAwsS3:        reflect.TypeFor[destination.S3](),
	destination.TypeS3Compatible: reflect.TypeFor[destination.S3](),
	destination.TypeSnowflake:    reflect.TypeFor[destination.Snowflake](),
	destination.TypePostgres:     reflect.TypeFor[destination.Postgres](),
	destination.TypeRedshift:     reflect.TypeFor[destination.Redshift](),
	destination.TypeBigQuery:     reflect.TypeFor[destination.BigQuery](),
	destination.TypeDatabricks:   reflect.TypeFor[destination.Databricks](),
	destination.TypeAzureBlob:    reflect.TypeFor[destination.AzureBlob](),
	destination.TypeHTTP:         reflect.TypeFor[destination.HTTP](),
	destination.TypeWorkflows:    reflect.TypeFor[destination.Workflows](),
	destination.TypeFileDownload: reflect.TypeFor[destination.FileDownload](),
	destination.TypeNoOp:         reflect.TypeFor[destination.NoOp](),
}

// readConfig decodes a config from the service. A config that does not fit its kind becomes a Raw.
func readConfig(kind destination.Type, text json.RawMessage) destination.Config {
	if t := configTypes[kind]; t != nil {
		config := reflect.New(t)
		if configs.Decode(text, config.Interface()) == nil {
			return config.Elem().Interface().(destination.Config)
		}
	}
	return destination.Raw(text)
}

func (d Destination) MarshalJSON() ([]byte, error) {
	config := []byte("null")
	if !outgoing.IsNil(d.Config) {
		var err error
		if config, err = configs.Redacted(d.Config); err != nil {
			return nil, err
		}
	}
	return json.Marshal(wireDestination{d.Type, config, d.Integration})
}

// wireDestination is the JSON form of a destination, in print and on the wire.
type wireDestination struct {
	Type        destination.Type `json:"type"`
	Config      json.RawMessage  `json:"config"`
	Integration Opt[int64]       `json:"integration,omitzero"`
}

// wire returns the destination as it is sent, with its credentials.
func (d Destination) wire(op Op) (w wireDestination, refusal *InputError) {
	if refusal := d.check(); refusal != nil {
		return w, refusal
	}
	config, keys, refusal := configs.Encode(d.Config)
	if refusal == nil {
		refusal = configs.CheckValues(keys)
	}
	if refusal == nil && d.over != nil {
		config, keys, refusal = d.completed(keys)
	}
	if refusal == nil {
		id, hasID := d.Integration.Get()
		refusal = configs.Check(string(d.Type), id, hasID, keys, op != ops.BatchExportsUpdate)
	}
	return wireDestination{d.Type, config, d.Integration}, refusal
}

// With returns the destination of an update that changes only the keys of config; it can be repeated. d must have been
// read from the service: a server that knows integrations gets only these keys, and an older one the whole config as it
// was read. A key can be null where the service allows it, and cannot be removed.
//
// Credentials are never read, so an update that would lose some, also those inside a key such as CopyInputs, is refused
// with an [*InputError] that names them: set them in config too, or null if the export does not have them.
func (d Destination) With(config destination.Config) Destination {
	changed := Destination{Type: d.Type, Config: config, over: func() Destination { return d }}
	if id, ok := d.Integration.Get(); ok {
		changed.Integration = Set(id)
	}
	return changed
}

// isReplaced reports whether the server that this destination was read from may replace a config instead of
// merging it. Such a server does not know integrations; other servers send them in every answer. Known
// types that came with integrations are never replaced.
func (d Destination) isReplaced() bool {
	return d.Integration.IsZero() && (configs.IsReplacedKind(string(d.Type)) || !d.Type.IsKnown())
}

// completed returns the config to send for the keys that d changes, and the whole config after the change.
func (d Destination) completed(changed configs.Keys) (config []byte, whole configs.Keys, refusal *InputError) {
	read := d.over()
	for ; read.over != nil; read = read.over() {
		_, below, refusal := configs.Encode(read.Config)
		if refusal != nil {
			return nil, nil, refusal
		}
		changed = configs.Overlay(below, changed)
	}
	var stored configs.Keys
	if !outgoing.IsNil(read.Config) {
		if _, stored, refusal = configs.Encode(read.Config); refusal != nil {
			return nil, nil, refusal
		}
	}
	sent, whole, refusal := configs.Update(string(read.Type), stored, changed, read.isReplaced())
	config, _ = json.Marshal(sent) //nolint:errchkjson // was valid JSON
	return config, whole, refusal
}

// withReplacement adds the form that newer servers take to their refusal of a destination that they no longer
// take.
func withReplacement(err error, d Destination) error {
	api, ok := errors.AsType[*APIError](err)
	if !ok || api.StatusCode != http.StatusBadRequest {
		return err
	}
	if other := configs.Replacement(string(d.Type), api.Attr, api.Detail, d.Config); other != "" {
		api.Alternative = other
	}
	return err
}

// check refuses a destination that the service would refuse or store wrongly.
func (d Destination) check() *InputError {
	refusal := cmp.Or(
		outgoing.If(strings.EqualFold(string(d.Type), "s3") && d.Type != destination.TypeS3, "Destination.Type", string(d.Type),
			`"AwsS3" or "S3Compatible"; only older servers take "S3"`),
		outgoing.Misspelt("Destination.Type", d.Type, destination.Types()),
		outgoing.If(outgoing.IsNil(d.Config), "Destination.Config", "",
			"a config such as destination.S3{…} or destination.Raw; the service needs it with the type"),
	)
	if refusal != nil {
		return refusal
	}
	of := reflect.Indirect(reflect.ValueOf(d.Config)).Type()
	isFit := of == reflect.TypeFor[destination.Raw]() || of == configTypes[d.Type]
	return outgoing.If(!isFit, "Destination.Config", fmt.Sprintf("%T", d.Config),
		"the config type of "+outgoing.UnlessKey(string(d.Type))+", or destination.Raw")
}

// DestinationTest holds the results of the tests of a destination, step by step.
type DestinationTest struct {
	Steps []DestinationTestStep `json:"steps"`
}

// DestinationTestStep is one test of a destination, such as of the existence of the bucket.
type DestinationTestStep struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Result      *DestinationTestResult `json:"result"` // nil: not run, as after a step that failed
}

// DestinationTestResult is the result of a step.
type DestinationTestResult struct {
	Status  DestinationTestStatus `json:"status"`
	Message *string               `json:"message"`
}

func (s *DestinationTestStep) complete() error { return has("name", s.Name) }

func (t *DestinationTest) complete() error {
	if len(t.Steps) == 0 {
		return errors.New("steps are missing")
	}
	return allComplete(t.Steps)
}

// ranStep is the answer of a step that was run.
type ranStep struct{ DestinationTestStep }

func (s *ranStep) complete() error {
	return cmp.Or(has("result", s.Result), has("status", outgoing.OrDefault(s.Result).Status))
}

// DestinationTestStatus is the result of a step.
type DestinationTestStatus string

// The known statuses.
const (
	DestinationTestStatusPassed  DestinationTestStatus = "Passed"
	DestinationTestStatusFailed  DestinationTestStatus = "Failed"
	DestinationTestStatusSkipped DestinationTestStatus = "Skipped" // not needed with these credentials
)

// Passed reports whether there are steps and all of them passed or were skipped.
func (t *DestinationTest) Passed() bool {
	good := []DestinationTestStatus{DestinationTestStatusPassed, DestinationTestStatusSkipped}
	isBad := func(s DestinationTestStep) bool { return !slices.Contains(good, outgoing.OrDefault(s.Result).Status) }
	return len(t.Steps) > 0 && !slices.ContainsFunc(t.Steps, isBad)
}

// Failed returns the step that failed, or nil.
func (t *DestinationTest) Failed() *DestinationTestStep {
	i := slices.IndexFunc(t.Steps, func(s DestinationTestStep) bool {
		return outgoing.OrDefault(s.Result).Status == DestinationTestStatusFailed
	})
	if i < 0 {
		return nil
	}
	return &t.Steps[i]
}

// testTry is the least time limit of a step: the vendors' own connections can take tens of seconds.
const testTry = 2 * time.Minute

// TestDestination tests the destination of a new export before it is created: it runs the service's steps in order, up to
// the first that fails, which is a result and no error (see [DestinationTest.Passed]). For BigQuery and Databricks, the
// last steps create and drop a table, or a volume, with the name of the export's table and _test: one of yours with this
// name is lost. A step may take two minutes, and is not repeated if its outcome is unknown. A type without a test is
// [ErrUnsupported], and an export that the server would refuse to create is [ErrInvalid].
//
// GET /batch_exports/test/, scope batch_export:read, then POST /batch_exports/run_test_step_new/, scope
// batch_export:write.
func (s *BatchExportsService) TestDestination(
	ctx context.Context, export BatchExportRequest, options ...CallOption,
) (*DestinationTest, error) {
	body, refusal := export.wire(ops.BatchExportsRunTestStep)
	if refusal != nil {
		return nil, refused(ops.BatchExportsRunTestStep, refusal)
	}
	body.Destination.Config = configs.Tested(string(body.Destination.Type), body.Destination.Config)
	return s.runTest(ctx, endpoint(ops.BatchExportsRunTestStep), body, nil, options)
}

// TestDestinationOf is [BatchExportsService.TestDestination] for an export that exists, with the credentials that the
// service keeps. [ErrInvalid] for an export without the integration that its type needs by now.
//
// GET /batch_exports/{id}/ and /batch_exports/test/, scope batch_export:read, then POST
// /batch_exports/{id}/run_test_step/, scope batch_export:write.
func (s *BatchExportsService) TestDestinationOf(ctx context.Context, id uuid.UUID, options ...CallOption) (*DestinationTest, error) {
	export, err := s.Get(ctx, id, headersOf(options)...)
	if err != nil {
		return nil, err
	}
	return s.testOf(ctx, export, nil, options)
}

// testOf runs the steps of a test that are selected, with the config that the service has.
func (s *BatchExportsService) testOf(ctx context.Context, e *BatchExport, only func(name string) bool, options []CallOption) (*DestinationTest, error) {
	_, keys, refusal := configs.Encode(e.Destination.Config)
	if refusal != nil {
		return nil, refused(ops.BatchExportsRunTestStepOf, refusal)
	}
	// The service puts the stored config under the one that is sent, and holds the whole to the rules of a new
	// export. Model and interval do not matter for the test, and some need a feature of the plan.
	body := &wireExport{
		BatchExportRequest: BatchExportRequest{Name: e.Name, Model: ModelEvents, Interval: IntervalHour},
		Destination:        wireDestination{e.Destination.Type, json.RawMessage("{}"), e.Destination.Integration},
	}
	if _, hasTable := keys["table_id"]; !hasTable {
		body.Destination.Config = configs.Tested(string(e.Destination.Type), body.Destination.Config)
	}
	return s.runTest(ctx, endpointByID(ops.BatchExportsRunTestStepOf, e.ID), body, only, options)
}

// runTest lists the steps of a test and runs the selected ones, or all, in order, up to the first failure.
func (s *BatchExportsService) runTest(
	ctx context.Context, r request, body *wireExport, only func(name string) bool, options []CallOption,
) (*DestinationTest, error) {
	kind := string(body.Destination.Type)
	read := endpoint(ops.BatchExportsTest).with(url.Values{"destination": {kind}})
	test, err := ask[DestinationTest](ctx, s.client, read, headersOf(options))
	if hasNoTest(err) {
		return nil, errtext.Errorf("%s: %v: the service has no test for %s", ops.BatchExportsTest, ErrUnsupported, outgoing.UnlessKey(kind))
	}
	if err != nil {
		return nil, err
	}
	for i := range test.Steps {
		test.Steps[i].Result = nil // until it is run here
	}
	for i := range test.Steps {
		if only != nil && !only(test.Steps[i].Name) {
			continue
		}
		body.Step = &i
		r.body, r.minTry = body, testTry
		r.matches = func(answer any) error { return isAskedFor("name", answer.(*ranStep).Name, test.Steps[i].Name) }
		ran, err := ask[ranStep](ctx, s.client, r, options)
		if err != nil {
			return test, err
		}
		test.Steps[i].Result = ran.Result
		if ran.Result.Status == DestinationTestStatusFailed {
			break
		}
	}
	return test, nil
}

// hasNoTest reports whether the service has no test for a type of destination. Its answer is then a 404 with an
// empty body.
func hasNoTest(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode == http.StatusNotFound && len(api.body) == 0 && !api.isForeign
}
