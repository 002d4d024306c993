package hogapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/ops"
)

var testCopyInputs = destination.RedshiftCopyInputs{
	S3Bucket: Set("b"), RegionName: Set("r"), S3KeyPrefix: Set("p"),
	Authorization:     Set(destination.RedshiftAuthorization{Role: "arn:aws:iam::1:role/x"}),
	BucketCredentials: Set(destination.RedshiftBucketAccess{Credentials: destination.AWSCredentials{AWSAccessKeyID: Set(NewSecret("k")), AWSSecretAccessKey: Set(NewSecret("s"))}}),
}

// testDestinations is one full config of each kind, in the form of the wire.
var testDestinations = map[string]Destination{
	`{"bucket_name":"b","region":"r","prefix":"p","aws_access_key_id":"k","aws_secret_access_key":"s","compression":"gzip","encryption":"AES256","kms_key_id":null,"endpoint_url":"https://e",
	"file_format":"JSONLines","max_file_size_mb":50,"use_virtual_style_addressing":true,"legacy_parquet_extension":false,"include_events":["a"],"exclude_events":[]}`: {
		Type: destination.TypeS3, Config: destination.S3{
			BucketName: Set("b"), Region: Set("r"), Prefix: Set("p"), AWSAccessKeyID: Set(NewSecret("k")), AWSSecretAccessKey: Set(NewSecret("s")), Compression: Set("gzip"),
			Encryption: Set("AES256"), KMSKeyID: Null[string](), EndpointURL: Set("https://e"), FileFormat: Set("JSONLines"), MaxFileSizeMB: Set(50),
			UseVirtualStyleAddressing: Set(true), LegacyParquetExtension: Set(false), IncludeEvents: Set([]string{"a"}), ExcludeEvents: Set([]string{}),
		},
	},
	`{"bucket_name":"b"}`: {Type: destination.TypeAwsS3, Config: destination.S3{BucketName: Set("b")}, Integration: Set(int64(1))},
	`{"region":"r"}`:      {Type: destination.TypeS3Compatible, Config: destination.S3{Region: Set("r")}},
	`{"account":"a","user":"u","database":"d","warehouse":"w","schema":"s","table_name":"t","authentication_type":"keypair","password":null,"private_key":"k","private_key_passphrase":"p","role":"r"}`: {
		Type: destination.TypeSnowflake, Config: destination.Snowflake{
			Account: Set("a"), User: Set("u"), Database: Set("d"), Warehouse: Set("w"), Schema: Set("s"), TableName: Set("t"), AuthenticationType: Set("keypair"),
			Password: Null[Secret](), PrivateKey: Set(NewSecret("k")), PrivateKeyPassphrase: Set(NewSecret("p")), Role: Set("r"),
		},
	},
	`{"user":"u","password":"p","host":"h","port":5432,"database":"d","schema":"public","table_name":"events","has_self_signed_cert":false}`: {
		Type: destination.TypePostgres, Config: destination.Postgres{
			User: Set("u"), Password: Set(NewSecret("p")), Host: Set("h"), Port: Set(5432), Database: Set("d"), Schema: Set("public"), TableName: Set("events"), HasSelfSignedCert: Set(false),
		},
	},
	`{"user":"u","password":"p","host":"h","port":5439,"database":"d","schema":"s","table_name":"t","has_self_signed_cert":true,"properties_data_type":"super","mode":"COPY",
	"copy_inputs":{"s3_bucket":"b","region_name":"r","s3_key_prefix":"p","authorization":"arn:aws:iam::1:role/x","bucket_credentials":{"aws_access_key_id":"k","aws_secret_access_key":"s"}}}`: {
		Type: destination.TypeRedshift, Config: destination.Redshift{
			User: Set("u"), Password: Set(NewSecret("p")), Host: Set("h"), Port: Set(5439), Database: Set("d"), Schema: Set("s"), TableName: Set("t"), HasSelfSignedCert: Set(true),
			PropertiesDataType: Set("super"), Mode: Set("COPY"), CopyInputs: Set(testCopyInputs),
		},
	},
	`{"copy_inputs":{"authorization":{"aws_access_key_id":"k"},"later":1}}`: {
		Type: destination.TypeRedshift, Config: destination.Redshift{CopyInputs: Set(destination.RedshiftCopyInputs{
			Authorization: Set(destination.RedshiftAuthorization{Credentials: destination.AWSCredentials{AWSAccessKeyID: Set(NewSecret("k"))}}),
			Extra:         destination.Extra{"later": json.RawMessage(`1`)},
		})},
	},
	`{"project_id":"p","dataset_id":"d","table_id":"t","private_key":"k","private_key_id":"i","client_email":"e@x","token_uri":"https://t","use_json_type":true}`: {
		Type: destination.TypeBigQuery, Config: destination.BigQuery{
			ProjectID: Set("p"), DatasetID: Set("d"), TableID: Set("t"), PrivateKey: Set(NewSecret("k")), PrivateKeyID: Set(NewSecret("i")), ClientEmail: Set("e@x"), TokenURI: Set("https://t"), UseJSONType: Set(true),
		},
	},
	`{"http_path":"h","catalog":"c","schema":"s","table_name":"t","use_variant_type":true,"use_automatic_schema_evolution":false}`: {
		Type: destination.TypeDatabricks, Integration: Set(int64(2)), Config: destination.Databricks{
			HTTPPath: Set("h"), Catalog: Set("c"), Schema: Set("s"), TableName: Set("t"), UseVariantType: Set(true), UseAutomaticSchemaEvolution: Set(false),
		},
	},
	`{"container_name":"c","prefix":"","compression":"zstd","file_format":"Parquet","max_file_size_mb":1,"legacy_parquet_extension":true}`: {
		Type: destination.TypeAzureBlob, Integration: Set(int64(7)), Config: destination.AzureBlob{
			ContainerName: Set("c"), Prefix: Set(""), Compression: Set("zstd"), FileFormat: Set("Parquet"), MaxFileSizeMB: Set(1), LegacyParquetExtension: Set(true),
		},
	},
	`{"url":"https://eu.i.posthog.com/batch/","token":"phc_x"}`: {Type: destination.TypeHTTP, Config: destination.HTTP{URL: Set("https://eu.i.posthog.com/batch/"), Token: Set(NewSecret("phc_x"))}},
	`{"hog_function_id":"f"}`:                                   {Type: destination.TypeWorkflows, Config: destination.Workflows{HogFunctionID: Set("f")}},
	`{"exclude_events":["x"],"new":{"deep":[1]}}`:               {Type: destination.TypeFileDownload, Config: destination.FileDownload{ExcludeEvents: Set([]string{"x"}), Extra: destination.Extra{"new": json.RawMessage(`{"deep":[1]}`)}}},
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

	raw := destination.Raw(`{"a":1}`)
	w, err = d.With(&raw).updated()
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, string(w.Config))
}

const canary = "CanarySecret0123456789"

// secretive is every way in which a credential can be in a value of this package.
func secretive(t *testing.T) map[string]any {
	t.Helper()
	s := Set(NewSecret(canary))
	bucket := destination.AWSCredentials{AWSAccessKeyID: s, AWSSecretAccessKey: s}
	typed := Destination{Type: destination.TypeRedshift, Config: destination.Redshift{Password: s, CopyInputs: Set(destination.RedshiftCopyInputs{
		BucketCredentials: Set(destination.RedshiftBucketAccess{Credentials: bucket}), Authorization: Set(destination.RedshiftAuthorization{Credentials: bucket}),
	})}}
	var decoded Destination
	require.NoError(t, json.Unmarshal([]byte(`{"type":"HTTP","config":{"token":"`+canary+`"}}`), &decoded))
	create := testCreate
	create.Destination = decoded
	return map[string]any{
		"typed": typed, "decoded": decoded, "create": create, "update": BatchExportUpdateRequest{Destination: Set(typed)}, "config": typed.Config,
		"export": BatchExport{Destination: decoded}, "page": &OffsetPage[BatchExport]{Results: []BatchExport{{Destination: decoded}}},
		"snowflake":       destination.Snowflake{Password: s, PrivateKey: s, PrivateKeyPassphrase: s},
		"aws integration": integration.AwsS3{AWSSecretAccessKey: NewSecret(canary)}, "databricks integration": integration.Databricks{ClientID: NewSecret(canary)},
		"azure integration": integration.AzureBlob{ConnectionString: NewSecret(canary)},
		"bigquery":          destination.BigQuery{PrivateKey: s, PrivateKeyID: s}, "s3": destination.S3{AWSAccessKeyID: s, AWSSecretAccessKey: s},
	}
}

// rawSecretive is where a credential is in raw bytes. In an unexported field of somebody's struct fmt sees those.
func rawSecretive(t *testing.T) map[string]any {
	t.Helper()
	var misfit Destination
	require.NoError(t, json.Unmarshal([]byte(`{"type":"Postgres","config":{"port":"many","password":"`+canary+`","x":[{"Api_Key":"`+canary+`"}]}}`), &misfit))
	extra := destination.Extra{"session_token": json.RawMessage(`"` + canary + `"`)}
	return map[string]any{
		"misfit": misfit, "raw": misfit.Config, "extra": extra, "export": BatchExport{Destination: misfit},
		"deep": destination.Redshift{CopyInputs: Set(destination.RedshiftCopyInputs{BucketCredentials: Set(destination.RedshiftBucketAccess{Credentials: destination.AWSCredentials{Extra: extra}})})},
	}
}

func TestCredentialsAreInTheRequest(t *testing.T) {
	values := secretive(t)
	maps.Copy(values, rawSecretive(t))
	for name, value := range values {
		d, ok := value.(Destination)
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			s := keepSent(mock, 201, oldExportJSON)
			create := testCreate
			create.Destination = d
			_, err := client.BatchExports.Create(t.Context(), create)
			require.NoError(t, err)
			assert.Contains(t, s.body, canary)
			assert.NotContains(t, s.body, "redacted")
			_, err = client.BatchExports.Update(t.Context(), testExportID, BatchExportUpdateRequest{Destination: Set(d)})
			require.NoError(t, err)
			assert.Contains(t, s.body, canary)
		})
	}
}

// A body that redacts would put "[redacted]" where the password was.
func TestPrintedCredentialsAreNotSent(t *testing.T) {
	client, mock := newTestClient(t)
	for name, value := range secretive(t) {
		err := client.Do(t.Context(), Request{Method: "POST", Path: "/batch_exports/", Body: value}, nil)
		requireInputError(t, err, "body")
		assert.NotContains(t, err.Error(), canary, name)
		_, err = client.BatchExports.Create(t.Context(), testCreate, WithBody(value))
		requireInputError(t, err, "body")
	}
	assert.Zero(t, mock.GetTotalCallCount())
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

// A test passes by the results of its own steps, in this call.
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
		require.NotErrorIs(t, err, ErrNoDestinationTest, list)
	}
	_, err = testDestination(t, 200, "")
	require.ErrorAs(t, err, &undecoded)
	_, err = testDestination(t, 404, "")
	require.NotErrorIs(t, err, ErrNoDestinationTest, "a proxy's answer: the service names the methods of the path")
	require.ErrorContains(t, err, "not the service's own answer")
}
