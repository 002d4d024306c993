package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats/internal/record"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct{ isNone, isEmpty, isTrue, isObject bool }{
		"":        {isNone: true, isEmpty: true},
		"null":    {isNone: true, isEmpty: true},
		`""`:      {isNone: true, isEmpty: true},
		"{}":      {isEmpty: true, isObject: true},
		"[ \n ]":  {isEmpty: true},
		"[0]":     {},
		`{"a":1}`: {isObject: true},
		"true":    {isTrue: true},
		`"TRUE"`:  {isTrue: true},
		"1":       {isTrue: true},
		`"1"`:     {isTrue: true},
		"0":       {},
		"0.0":     {},
		"false":   {},
		`"FALSE"`: {},
		`"yes"`:   {},
		"-1":      {},
		"9":       {isTrue: true},
		"0.5":     {isTrue: true},
		`"x"`:     {},
		`":"`:     {},
		`"00"`:    {},
	} {
		assert.Equal(t, want.isNone, record.IsNone([]byte(raw)), raw)
		assert.Equal(t, want.isEmpty, record.IsEmpty([]byte(raw)), raw)
		assert.Equal(t, want.isTrue, record.IsTrue([]byte(raw)), raw)
		assert.Equal(t, want.isObject, record.IsObject([]byte(raw)), raw)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 23, 59, 58, 12_000_000, time.UTC)
	for _, raw := range []string{
		`"2024-02-29 23:59:58.012000"`, `"2024-02-29T23:59:58.012"`, `"2024-02-29t23:59:58.012Z"`, `"2024-03-01 00:59:58.012+01:00"`, `"2024-02-29 22:59:58.012000000-01:00"`,
	} {
		got, err := record.Time([]byte(raw))
		assert.NoError(t, err, raw)
		assert.Equal(t, at, got, raw)
	}
	whole, err := record.Time([]byte(`"2024-02-29 23:59:59"`))
	assert.NoError(t, err)
	assert.Equal(t, "2024-02-29T23:59:59Z", whole.Format(time.RFC3339Nano))
	for _, raw := range []string{
		"", "null", `""`, `"`, "17", `"2024-02-29"`, `"2023-02-29 23:59:58"`, `"2024-02-29 24:59:58"`, `"2024-02-29_23:59:58"`, `"2024-02-29 23:59:58.0123456789"`, `"2024-02-29 23:59:58,5"`, `"2024-02-29 23:59:58 UTC"`,
	} {
		_, err := record.Time([]byte(raw))
		assert.Error(t, err, raw)
	}
}

func TestUnixTime(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"0":                     "1970-01-01T00:00:00Z",
		"1721228056":            "2024-07-17T14:54:16Z",
		`"1721228056"`:          "2024-07-17T14:54:16Z",
		"1721228056.002":        "2024-07-17T14:54:16.002Z",
		"1721228056.1234567899": "2024-07-17T14:54:16.123456789Z",
		"1721228056002":         "2024-07-17T14:54:16.002Z",
		"1721228056002.5":       "2024-07-17T14:54:16.0025Z",
		"1.721228056002e9":      "2024-07-17T14:54:16.002Z",
		"1721228056002E0":       "2024-07-17T14:54:16.002Z",
		"10000000000":           "2286-11-20T17:46:40Z",
		"10000000001":           "1970-04-26T17:46:40.001Z",
		"-1":                    "1969-12-31T23:59:59Z",
		"-2.5":                  "1969-12-31T23:59:57.5Z",
		"-2.0":                  "1969-12-31T23:59:58Z",
		`1.9999999999e0`:        "1970-01-01T00:00:02Z",
		`"7"`:                   "1970-01-01T00:00:07Z",
		"-0.25":                 "1969-12-31T23:59:59.75Z",
	} {
		got, err := record.UnixTime([]byte(raw))
		assert.NoError(t, err, raw)
		assert.Equal(t, want, got.Format(time.RFC3339Nano), raw)
	}
	for _, raw := range []string{"", "null", `""`, `"soon"`, "true", "[1]", `"1."`, `"12x"`, `"0x10"`, `"1e"`, "1e99", "9.007199254740992e15", "9007199254740992e0", "-9007199254740992e0", "9007199254740992", "99999999999999999999", `"Inf"`} {
		_, err := record.UnixTime([]byte(raw))
		assert.Error(t, err, raw)
	}
}
