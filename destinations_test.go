package hogapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/ops"
)

// testDestinations are destinations in the form of the wire, with and without an integration, and of an unknown kind.
var testDestinations = map[string]Destination{
	`{"bucket_name":"b","aws_secret_access_key":"s","kms_key_id":null}`: {Type: destination.TypeS3, Config: destination.S3{
		BucketName: Set("b"), AWSSecretAccessKey: Set(NewSecret("s")), KMSKeyID: Null[string](),
	}},
	`{"copy_inputs":{"authorization":{"aws_access_key_id":"k"},"later":1}}`: {
		Type: destination.TypeRedshift, Config: destination.Redshift{CopyInputs: Set(destination.RedshiftCopyInputs{
			Authorization: Set(destination.RedshiftAuthorization{Credentials: destination.AWSCredentials{AWSAccessKeyID: Set(NewSecret("k"))}}),
			Extra:         destination.Extra{"later": json.RawMessage(`1`)},
		})},
	},
	`{"http_path":"h"}`:                           {Type: destination.TypeDatabricks, Integration: Set(int64(2)), Config: destination.Databricks{HTTPPath: Set("h")}},
	`{"exclude_events":["x"],"new":{"deep":[1]}}`: {Type: destination.TypeFileDownload, Config: destination.FileDownload{ExcludeEvents: Set([]string{"x"}), Extra: destination.Extra{"new": json.RawMessage(`{"deep":[1]}`)}}},
	`{}`:                        {Type: destination.TypeNoOp, Config: destination.NoOp{}},
	`{"brokers":["a"],"n":1e3}`: {Type: "Kafka", Config: destination.Raw(`{"brokers":["a"],"n":1e3}`)},
}

// updated is the destination as an update sends it.
func (d Destination) updated() (wireDestination, error) {
	w, refusal := d.wire(ops.BatchExportsUpdate)
	return w, refused(ops.BatchExportsUpdate, refusal)
}

func TestDestinationsGoBothWays(t *testing.T) {
	for config, d := range testDestinations {
		t.Run(string(d.Type), func(t *testing.T) {
			assert.Equal(t, d.Type != "Kafka", d.Type.IsKnown())
			w, err := d.updated()
			require.NoError(t, err)
			assert.JSONEq(t, config, string(w.Config))
			wire, err := json.Marshal(w)
			require.NoError(t, err)
			var back Destination
			require.NoError(t, json.Unmarshal(wire, &back))
			assert.Equal(t, d.Type, back.Type)
			assert.Equal(t, d.Integration, back.Integration)
			assert.IsType(t, d.Config, back.Config)
			assert.JSONEq(t, config, string(back.Raw()))
			again, err := back.updated()
			require.NoError(t, err)
			assert.Equal(t, string(w.Config), string(again.Config))

			settings := reflect.New(reflect.TypeOf(d.Config)) // the config alone, as a program would read it from a file
			require.NoError(t, json.Unmarshal([]byte(config), settings.Interface()))
			again, err = Destination{Type: d.Type, Config: settings.Interface().(destination.Config), Integration: d.Integration}.updated()
			require.NoError(t, err)
			assert.JSONEq(t, config, string(again.Config))
			alone, err := json.Marshal(d.Config)
			require.NoError(t, err)
			inside, err := json.Marshal(d)
			require.NoError(t, err)
			assert.Contains(t, string(inside), string(alone))
		})
	}
}

// A config that this package reads wrongly must not hide the export, nor the page that it is on.
func TestEachKindHasItsConfig(t *testing.T) {
	for _, kind := range destination.Types() {
		config := readConfig(kind, json.RawMessage(`{}`))
		assert.NotEqual(t, destination.Raw(`{}`), config, kind)
		assert.Nil(t, Destination{Type: kind, Config: config}.check(), kind)
	}
}

func TestDestinationThatDoesNotFitStaysRaw(t *testing.T) {
	for sent, config := range map[string]string{
		`{"type":"Postgres","config":{"port":"many"}}`:           `{"port":"many"}`,
		`{"type":"Postgres","config":{"port":[1]}}`:              `{"port":[1]}`,
		`{"type":"Postgres","config":{"password":7}}`:            `{"password":7}`,
		`{"type":"S3","config":"encrypted"}`:                     `"encrypted"`,
		`{"type":"S3","config":[]}`:                              `[]`,
		`{"type":"Redshift","config":{"copy_inputs":"x"}}`:       `{"copy_inputs":"x"}`,
		`{"type":"S3","config":{"include_events":"['a']"}}`:      `{"include_events":"['a']"}`,
		`{"type":"Kafka","config":{"b": 1},"integration":"x"}`:   `{"b": 1}`,
		`{"type":null,"config":{"b":1}}`:                         `{"b":1}`,
		`{"config":{"b":1},"integration":null,"new":{"deep":1}}`: `{"b":1}`,
	} {
		var d Destination
		require.NoError(t, json.Unmarshal([]byte(sent), &d), sent)
		assert.Equal(t, destination.Raw(config), d.Config, sent)
		assert.Equal(t, config, string(d.Raw()))
		_, ok := d.Integration.Get()
		assert.False(t, ok, sent)
	}
	var d Destination
	require.NoError(t, json.Unmarshal([]byte(`{"type":"NoOp","config":null,"integration":"12"}`), &d))
	assert.Nil(t, d.Config)
	assert.Nil(t, d.Raw())
	assert.Equal(t, Set(int64(12)), d.Integration)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	assert.Equal(t, `{"type":"NoOp","config":null,"integration":12}`, string(b))
}

func TestDestinationWithSendsTypeAndIntegrationAgain(t *testing.T) {
	var d Destination
	require.NoError(t, json.Unmarshal([]byte(`{"type":"Databricks","config":{"catalog":"c"},"integration":9}`), &d))
	w, err := d.With(destination.Databricks{Schema: Set("s")}).updated()
	require.NoError(t, err)
	b, err := json.Marshal(w)
	require.NoError(t, err)
	assert.Equal(t, `{"type":"Databricks","config":{"schema":"s"},"integration":9}`, string(b))

	require.NoError(t, json.Unmarshal([]byte(`{"type":"S3","config":{},"integration":null}`), &d))
	w, err = d.With(&destination.S3{Prefix: Set("p")}).updated()
	require.NoError(t, err)
	b, err = json.Marshal(w)
	require.NoError(t, err)
	assert.Equal(t, `{"type":"S3","config":{"prefix":"p"}}`, string(b))

	read := Destination{}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"Redshift","integration":4,"config":{"database":"d","mode":"COPY",
		"copy_inputs":{"s3_bucket":"b","region_name":"r","authorization":7,"bucket_credentials":8}}}`), &read))
	w, err = read.With(destination.Redshift{CopyInputs: Set(destination.RedshiftCopyInputs{S3KeyPrefix: Set("p/")})}).updated()
	require.NoError(t, err, "ids are read, so none is lost")
	assert.JSONEq(t, `{"copy_inputs":{"s3_bucket":"b","region_name":"r","s3_key_prefix":"p/","authorization":7,"bucket_credentials":8}}`, string(w.Config))
	assert.Equal(t, Set(int64(4)), w.Integration)

	d = Destination{Type: destination.TypeS3}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"S3","config":"x"}`), &d))
	_, err = d.With(destination.S3{Prefix: Set("p")}).updated()
	require.ErrorIs(t, err, ErrInvalid, "no object")
	require.NoError(t, json.Unmarshal([]byte(`{"type":"S3","config":{},"integration":null}`), &d))

	raw := destination.Raw(`{"a":1}`)
	w, err = d.With(&raw).updated()
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(w.Config))
}

// testDestination tests a destination on a server that answers as told: the list of steps, and each step in turn.
func testDestination(t *testing.T, status int, list string, steps ...string) (*DestinationTest, error) {
	t.Helper()
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", `=~/batch_exports/test/`, httpmock.NewStringResponder(status, list))
	mock.RegisterResponder("POST", testBase+"/batch_exports/run_test_step_new/", func(*http.Request) (*http.Response, error) {
		if len(steps) == 0 {
			return httpmock.NewStringResponse(400, `{"type":"validation_error","code":"invalid_input","detail":"x"}`), nil
		}
		step := steps[0]
		steps = steps[1:]
		return httpmock.NewStringResponse(200, step), nil
	})
	return client.BatchExports.TestDestination(t.Context(), testCreate)
}

// A test passes if its own steps pass, in this call.
func TestDestinationTestTakesItsOwnResultsOnly(t *testing.T) {
	const two = `{"steps":[{"name":"A","description":"d"},{"name":"B","description":"d"}]}`
	var undecoded *DecodeError

	test, err := testDestination(t, 200, two, `{"name":"A","result":{"status":"Passed"}}`, `{"name":"Z","result":{"status":"Passed"}}`)
	require.ErrorAs(t, err, &undecoded, "the result of another step")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	assert.Equal(t, DestinationTestStatusPassed, test.Steps[0].Result.Status)
	assert.Nil(t, test.Steps[1].Result)
	assert.False(t, test.Passed())

	test, err = testDestination(t, 200, `{"steps":[{"name":"A","result":{"status":"Passed"}},{"name":"B","result":{"status":"Failed"}}]}`)
	require.ErrorIs(t, err, ErrInvalid)
	for _, step := range test.Steps {
		assert.Nil(t, step.Result, "listed, not run")
	}
	assert.False(t, test.Passed())
	assert.Nil(t, test.Failed())

	for _, list := range []string{`{}`, `null`, `{"steps":null}`, `{"steps":[]}`, `{"detail":"hello"}`, `[]`, `{"steps":[{}]}`} {
		_, err = testDestination(t, 200, list)
		require.ErrorAs(t, err, &undecoded, list)
		require.NotErrorIs(t, err, ErrUnsupported, list)
	}
	_, err = testDestination(t, 200, "")
	require.ErrorAs(t, err, &undecoded)
	_, err = testDestination(t, 404, "")
	require.NotErrorIs(t, err, ErrUnsupported, "a proxy's answer: the service names the methods of the path")
	require.ErrorContains(t, err, "not the service's own answer")
}
