package exported_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/exported"
)

const name = "2026-11-25T01:00:00+00:00-2026-11-25T02:00:00+00:00"

var hour = exported.Interval{Start: time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 25, 3, 0, 0, 0, time.FixedZone("", 3600))}

// Keys equal the results of the service's own function for the same config.
func TestKeys(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{}`:                  name + ".jsonl",
		`{"prefix":"events"}`: "events/" + name + ".jsonl",
		`{"prefix":"events/","compression":"gzip","max_file_size_mb":0}`:             "events/" + name + ".jsonl.gz",
		`{"compression":"brotli","file_format":"JSONLines","max_file_size_mb":null}`: name + ".jsonl.br",
		`{"prefix":"/a//b/../c"}`: "a/c/" + name + ".jsonl",
		`{"prefix":"/"}`:          name + ".jsonl",
		`{"prefix":"{table}/{year}-{month}-{day}/{hour}{minute}{second}"}`:                         "events/2026-11-25/020000/" + name + ".jsonl",
		`{"prefix":"{data_interval_start}_{data_interval_end}"}`:                                   "2026-11-25T01:00:00+00:00_2026-11-25T02:00:00+00:00/" + name + ".jsonl",
		`{"prefix":"{{x}}/{year}"}`:                                                                "{x}/2026/" + name + ".jsonl",
		`{"prefix":"{year}/{nothing}"}`:                                                            "{year}/{nothing}/" + name + ".jsonl",
		`{"prefix":"{year}/{"}`:                                                                    "{year}/{/" + name + ".jsonl",
		`{"prefix":"{year}/}"}`:                                                                    "{year}/}/" + name + ".jsonl",
		`{"file_format":"Parquet","compression":"zstd","legacy_parquet_extension":false}`:          name + ".parquet",
		`{"file_format":"Parquet","compression":"zstd"}`:                                           name + ".parquet.zst",
		`{"file_format":"Parquet","compression":"snappy","legacy_parquet_extension":true}`:         name + ".parquet.sz",
		`{"file_format":"Parquet","compression":"lz4","max_file_size_mb":5}`:                       name + "-1.parquet.lz4",
		`{"prefix":"/events","max_file_size_mb":5,"compression":"gzip","file_format":"JSONLines"}`: "events/" + name + "-1.jsonl.gz",
	} {
		l, err := exported.LayoutOf("AwsS3", "", []byte(config))
		require.NoError(t, err)
		key := l.Object(hour, 1)
		assert.Equal(t, want, key, config)
		of, isManifest, ok := exported.IntervalOf(key)
		assert.True(t, ok && !isManifest && of.Start.Equal(hour.Start) && of.End.Equal(hour.End), key)
	}
	l := exported.Layout{Prefix: "{table}/{data_interval_start}", Model: "persons"}
	end := exported.Interval{End: time.Date(2026, 11, 25, 2, 0, 0, 500, time.UTC)}
	assert.Equal(t, "persons/START/None-2026-11-25T02:00:00.000000+00:00.jsonl", l.Object(end, 0), "from the beginning of time")
	for _, other := range []string{"a.jsonl", "None-None.jsonl", name + ".csv", name + "-x.jsonl", "2026-13-25T01:00:00Z-2026-11-25T02:00:00Z.jsonl"} {
		_, _, ok := exported.IntervalOf(other)
		assert.False(t, ok, other)
	}
}

// The key of a manifest keeps the slash at the start of the prefix, but the keys of its objects lose it.
func TestManifests(t *testing.T) {
	t.Parallel()
	none, ten := int64(0), int64(10)
	l := exported.Layout{Kind: "AwsS3", Prefix: "/events/", MaxMiB: &ten}
	assert.Equal(t, "/events/"+name+"_manifest.json", l.Manifest(hour))
	assert.Equal(t, "events/"+name+"-0.jsonl", l.Object(hour, 0))
	_, isManifest, ok := exported.IntervalOf(l.Manifest(hour))
	assert.True(t, isManifest && ok)
	keys := []string{"a-0.jsonl", "a-1.jsonl"}
	for kind, c := range map[string]struct {
		ofOne bool
		text  string
	}{
		"AwsS3": {true, `{"files":["a-0.jsonl","a-1.jsonl"]}`}, "AzureBlob": {false, "{\n  \"files\": [\n    \"a-0.jsonl\",\n    \"a-1.jsonl\"\n  ]\n}"},
	} {
		l.Kind = kind
		assert.Equal(t, []bool{c.ofOne, true}, []bool{l.HasManifest(1), l.HasManifest(2)}, kind)
		assert.Equal(t, c.text, string(l.ManifestOf(keys)))
		assert.Equal(t, keys, exported.KeysOf(l.ManifestOf(keys)))
	}
	assert.Nil(t, exported.KeysOf([]byte(`{"entries":[]}`)))
	assert.False(t, exported.Layout{MaxMiB: &none}.HasManifest(1), "0 is no limit")
}

// Each destination has a row in its own columns.
func TestRows(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 23, 59, 58, 12e6, time.UTC)
	row := exported.Row{
		UUID: "u", Event: "e", DistinctID: "d", PersonID: "p", Elements: `a:x="1"`, TeamID: 7, Timestamp: at, Created: at.Truncate(time.Second), Inserted: at,
		Properties: []byte(`{"$ip":"1.2.3.4","$set":{"a":1},"n":"é\ud83d\u0000","b":"\\ud83d \ud83d\ude00"}`),
	}
	const text = `"{\"$ip\":\"1.2.3.4\",\"$set\":{\"a\":1},\"n\":\"é\\ud83d\\u0000\",\"b\":\"\\\\ud83d \\ud83d\\ude00\"}"`
	const files = `"uuid":"u","event":"e","distinct_id":"d","timestamp":"2024-02-29T23:59:58.012000+00:00","_inserted_at":"2024-02-29T23:59:58.012000+00:00",`
	const garbled = `{"$ip":"1.2.3.4","$set":{"a":1},"n":"Ã©?\u0000","b":"\\ud83d ??"}`
	const table = `"uuid":"u","event":"e","distinct_id":"d","ip":"1.2.3.4",`
	for kind, want := range map[string]string{
		"":           files + `"created_at":"2024-02-29T23:59:58+00:00","elements_chain":"a:x=\"1\"","person_id":"p","person_properties":null,"properties":` + garbled,
		"AzureBlob":  files + `"team_id":7,"azure_blob_ingested_timestamp":"2024-02-29T23:59:58.012000+00:00","properties":` + garbled,
		"Postgres":   table + `"team_id":7,"site_url":null,"elements":"\"a:x=\\\"1\\\"\"","set":{"a":1},"set_once":null,"timestamp":"2024-02-29T23:59:58.012000+00:00","properties":{"$ip":"1.2.3.4","$set":{"a":1},"n":"é","b":"\\ud83d 😀"}`,
		"Redshift":   table + `"team_id":7,"site_url":"","elements":"","set":"{\"a\":1}","set_once":null,"timestamp":"2024-02-29 23:59:58.012+00","properties":` + text,
		"BigQuery":   table + `"team_id":"7","site_url":"","elements":"\"a:x=\\\"1\\\"\"","set":"{\"a\":1}","timestamp":"2024-02-29 23:59:58.012 UTC","bq_ingested_timestamp":"2024-02-29 23:59:58.012 UTC","properties":` + text,
		"Databricks": `"uuid":"u","event":"e","distinct_id":"d","team_id":7,"timestamp":"2024-02-29T23:59:58.012000+00:00","databricks_ingested_timestamp":"2024-02-29T23:59:58.012000+00:00","properties":` + text,
		"Snowflake":  table + `"team_id":7,"site_url":"","elements":"a:x=\"1\"","people_set":{"a":1},"people_set_once":null,"timestamp":"2024-02-29T23:59:58.012000+00:00","properties":` + string(row.Properties),
	} {
		assert.JSONEq(t, "{"+want+"}", string(row.AppendText(nil, kind, false)), kind)
	}
	var stored map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(row.AppendText(nil, "AwsS3", true), &stored))
	assert.Equal(t, string(row.Properties), string(stored["properties"]), "Parquet has the text as it is")
	assert.Len(t, stored, len(exported.Columns("AwsS3")))
	assert.Contains(t, string(exported.Row{}.AppendText(nil, "S3", false)), `"properties":null`)
	assert.Equal(t, "{}\n", string(row.AppendText(nil, "HTTP", false)), "no columns")
}
