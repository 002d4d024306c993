package hogtemporal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestParamsThatAreRefused(t *testing.T) {
	good := func() ImportParams { return ImportParams{ID: "i", Shards: []Shard{{Path: "/a/1"}, {Path: "/a/2"}}} }
	require.NoError(t, good().check())
	for want, change := range map[string]func(p *ImportParams){
		"ID":                    func(p *ImportParams) { p.ID = "" },
		"1 to 10000 shards":     func(p *ImportParams) { p.Shards = nil },
		"events a second":       func(p *ImportParams) { p.Rate = -2 },
		"2 s or more":           func(p *ImportParams) { p.Heartbeat = time.Second },
		"no pattern":            func(p *ImportParams) { p.Shards[0].Path = "/a/*.gz" },
		"a base name":           func(p *ImportParams) { p.Shards[1].Path = "/b/1" },
		"one of jsonlines":      func(p *ImportParams) { p.Shards[1].Format = "xml" },
		"unknown field":         func(p *ImportParams) { p.Shards[1] = Shard{"/2", "mixpanel", json.RawMessage(`{"Zome":1}`)} },
		"no key":                func(p *ImportParams) { p.Shards[1].Path = "/a/" + hogapitest.DefaultProjectKey },
		"without user":          func(p *ImportParams) { p.Shards[1].Path = "s3://me:secret@bucket/2" },
		"Options.Map cannot":    func(p *ImportParams) { p.Shards[1] = Shard{"/2", "generic", json.RawMessage(`{"Map":["time"]}`)} },
		"such as US/Pacific":    func(p *ImportParams) { p.Shards[1] = Shard{"/2", "mixpanel", json.RawMessage(`{"Zone":"Mars"}`)} },
		"options that are JSON": func(p *ImportParams) { p.Shards[1] = Shard{"/2", "generic", json.RawMessage(`{`)} },
	} {
		p := good()
		change(&p)
		err := p.check()
		require.ErrorIs(t, err, hogapi.ErrInvalid, want)
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "secret")
		assert.NotContains(t, err.Error(), hogapitest.DefaultProjectKey)
	}
	for format, record := range map[string]string{
		"generic": `{"event":"e","distinct_id":"p","timestamp":"2024-01-01 00:00:00"}`, "mixpanel": `{"event":"e","properties":{"time":1704067200,"distinct_id":"p"}}`,
	} {
		f, err := vendors[format](json.RawMessage(`{"Zone":"US/Pacific"}`))
		require.NoError(t, err)
		events, err := f.Convert([]byte(record))
		require.NoError(t, err)
		assert.Equal(t, time.Date(2024, 1, 1, 8, 0, 0, 0, time.UTC), events[0].Timestamp, "a zone is given by its name")
	}
	for _, format := range Formats() {
		_, err := Shard{Path: "/x", Format: format}.source()
		require.NoError(t, err, format)
	}
}

// Limits can be reached. Without a rate or a heartbeat, parameters have the defaults.
func TestParamsAtTheirLimits(t *testing.T) {
	good := ImportParams{ID: strings.Repeat("i", 200), Rate: hogapi.RateUnlimited, Heartbeat: minHeartbeat}
	for i := range maxShards {
		good.Shards = append(good.Shards, Shard{Path: fmt.Sprint("/", i)})
	}
	require.NoError(t, good.check())
	more := good
	more.Shards = append(more.Shards, Shard{Path: "/x"})
	require.ErrorContains(t, more.check(), "1 to 10000 shards")
	more = good
	more.ID += "i"
	require.ErrorContains(t, more.check(), "at most 200 bytes")

	raw, err := json.Marshal(good)
	require.NoError(t, err)
	large := good
	large.Shards = append(large.Shards[:0:0], large.Shards...)
	large.Shards[0].Path = "/" + strings.Repeat("x", maxParams-len(raw)+1)
	require.NoError(t, large.check())
	large.Shards[0].Path += "x"
	require.ErrorContains(t, large.check(), "at most 1 MiB")

	assert.Equal(t, good, good.withDefaults())
	assert.Equal(t, ImportParams{Rate: defaultRate, Heartbeat: defaultHeartbeat}, ImportParams{}.withDefaults())
	assert.True(t, Shard{Path: "s3://bucket/key"}.IsURL())
	assert.False(t, Shard{Path: "/a/key"}.IsURL())
}
