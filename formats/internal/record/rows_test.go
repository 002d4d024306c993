package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
)

// Warehouses and loaders write the same time in many ways.
func TestTableTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
	for _, text := range []string{
		"2024-02-29 23:59:58", "2024-02-29T23:59:58", "2024-02-29T23:59:58Z", "2024-02-29 23:59:58 UTC", "2024-02-29 23:59:58 Z",
		"2024-02-29 23:59:58+00", "2024-02-29 23:59:58+0000", "2024-02-29 23:59:58+00:00", "2024-02-29 23:59:58 +0000",
		"2024-02-29 15:59:58 -0800", "2024-02-29 15:59:58.000-08", "2024-02-29 23:59:58.000000 GMT",
	} {
		at, err := TableTime(Quoted(text))
		require.NoError(t, err, text)
		assert.True(t, want.Equal(at), "%s: %s", text, at)
		assert.Equal(t, time.UTC, at.Location(), text)
	}
	at, err := TableTime([]byte(`"2025-10-08 02:04:53.78+00"`))
	require.NoError(t, err)
	assert.Equal(t, 780*time.Millisecond, time.Duration(at.Nanosecond()))
	for _, text := range []string{"", "2024-02-29", "2024-02-30 00:00:00", "2024-02-29 23:59:58 CET", "2024-02-29 23:59:58 +1", "1709251198", "29.02.2024 23:59:58", "2024-02-29 23:59:58."} {
		_, err := TableTime(Quoted(text))
		require.Error(t, err, text)
	}
	_, err = TableTime([]byte("1709251198"))
	require.Error(t, err)
}

func TestSize(t *testing.T) {
	t.Parallel()
	width, height := Size([]byte(`"1920x1080"`))
	assert.Equal(t, "1920 1080", string(width)+" "+string(height))
	for _, text := range []string{`""`, `"1920"`, `"x1080"`, `"1920x"`, `"axb"`, `"0x5"`, `"1920x1080x3"`, "5", "null"} {
		width, height = Size([]byte(text))
		assert.Empty(t, string(width)+string(height), text)
	}
}

func TestAddCountry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"DE": `{"$geoip_country_code":"DE","$geoip_country_name":"Germany"}`, "de": `{"$geoip_country_code":"DE","$geoip_country_name":"Germany"}`,
		"Germany": `{"$geoip_country_code":"DE","$geoip_country_name":"Germany"}`, "": `{}`, "Nowhere": `{}`, "xx": `{}`,
	} {
		var o Object
		o.AddCountry(text)
		assert.JSONEq(t, want, string(o.JSON()), text)
	}
}

// The version of a parser of one's own is never JSON unless it is a number: it would change what else the event has.
func TestAddAgent(t *testing.T) {
	for version, want := range map[string]string{
		"120": "120", "17.2": "17.2", "": "", "120.0.6099.130": `"120.0.6099.130"`, "012": `"012"`, `1,"$set":{"x":1}`: `"1,\"$set\":{\"x\":1}"`, `{"x":1}`: `"{\"x\":1}"`,
	} {
		var o Object
		o.Begin()
		o.AddAgent(func(string) formats.Agent { return formats.Agent{Browser: "Chrome", BrowserVersion: version} }, []byte(`"Mozilla"`))
		if want != "" {
			want = `,"$browser_version":` + want
		}
		require.JSONEq(t, `{"$browser":"Chrome"`+want+`}`, string(o.JSON()), version)
	}
}
