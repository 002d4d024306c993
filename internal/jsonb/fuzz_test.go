package jsonb_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// verdict is the judgment of an independent reader on raw: its faults, its depth and its top-level
// keys.
type verdict struct {
	json, utf8, surrogates, numbers, depth bool // whether each is good
	keys                                   []string
	object                                 bool
}

var (
	escapes = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\.`)
	halves  = regexp.MustCompile(`H[^L]|H$|^L|[^H]L`)
)

// loneSurrogate replaces each escape with one letter: H and L for halves of pairs, a dot for
// others.
func loneSurrogate(raw []byte) bool {
	letters := escapes.ReplaceAllStringFunc(strings.NewReplacer("H", ".", "L", ".").Replace(string(raw)), func(escape string) string {
		switch code := strings.ToLower(escape); {
		case len(code) == 6 && code >= `\ud800` && code < `\udc00`:
			return "H"
		case len(code) == 6 && code >= `\udc00` && code < `\ue000`:
			return "L"
		}
		return "."
	})
	letters = strings.ReplaceAll(letters, "HL", "..")
	return halves.MatchString(letters) || strings.ContainsAny(letters, "HL")
}

func judge(raw []byte) verdict {
	v := verdict{json: json.Valid(raw), utf8: utf8.Valid(raw), surrogates: !loneSurrogate(raw), numbers: true, depth: true}
	if !v.json {
		return v
	}
	tokens := json.NewDecoder(bytes.NewReader(raw))
	tokens.UseNumber()
	depth, count := 0, 0
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return v
		}
		if err != nil { // the decoder has a limit of 10,000 levels
			v.depth = false
			return v
		}
		if text, ok := token.(string); ok && depth == 1 && v.object && count%2 == 0 {
			v.keys = append(v.keys, text)
		}
		opens := token == json.Delim('{') || token == json.Delim('[')
		if depth == 1 && token != json.Delim('}') && token != json.Delim(']') {
			count++
		}
		switch token := token.(type) {
		case json.Number:
			if f, err := strconv.ParseFloat(token.String(), 64); err != nil || math.IsInf(f, 0) {
				v.numbers = false
			}
		case json.Delim:
			if opens {
				v.object = v.object || depth == 0 && token == '{'
				depth++
			} else {
				depth--
			}
			v.depth = v.depth && depth <= jsonb.MaxDepth
		}
	}
}

func (v verdict) good() bool { return v.json && v.utf8 && v.surrogates && v.numbers && v.depth }

func (v verdict) duplicates() bool {
	keys := slices.Sorted(slices.Values(v.keys))
	return len(slices.Compact(keys)) < len(v.keys)
}

// agrees reports whether the verdict has a fault of this kind.
func (v verdict) agrees(kind jsonb.Kind) bool {
	switch kind {
	case jsonb.KindUTF8:
		return !v.utf8
	case jsonb.KindSurrogate:
		return !v.surrogates
	case jsonb.KindNumber:
		return !v.json || !v.numbers
	case jsonb.KindDepth:
		return !v.json || !v.depth
	case jsonb.KindSyntax:
		return !v.json
	default:
		return false
	}
}

func FuzzObject(f *testing.F) {
	for _, raw := range valid {
		f.Add([]byte(raw))
		f.Add([]byte(" {\"a\":" + raw + " , \"b\" : [" + raw + "]}"))
	}
	for _, c := range invalid {
		f.Add([]byte(c.raw))
		f.Add([]byte(`{"a":` + c.raw + `}`))
	}
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Add(line(" "))
	f.Add([]byte(" { \"event\" : \"e\" , \"\\u0061\\n\" : [ 1 , 2.50 ] ,\n\t\"c\\\" d\":\" x \\\\\",\"o\":{\"b\":1,\"b\":2},\"\":{ } } \r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := judge(raw)
		err := jsonb.Valid(raw)
		require.Equal(t, v.good(), err == nil, "%v %+v", err, v)
		compacted, compactErr := jsonb.Compact([]byte("x"), raw)
		require.Equal(t, err, compactErr)
		if err != nil {
			var fault *jsonb.Error
			require.ErrorAs(t, err, &fault)
			require.True(t, v.agrees(fault.Kind), "%v %+v", err, v)
			require.LessOrEqual(t, fault.Offset, len(raw))
			require.Error(t, jsonb.Object(raw, nil))
			require.Equal(t, "x", string(compacted), "nothing is appended on an error")
			return
		}
		var oracle bytes.Buffer
		require.NoError(t, json.Compact(&oracle, raw))
		require.Equal(t, "x"+oracle.String(), string(compacted))
		checkObject(t, raw, v)
	})
}

// checkObject compares Object with the verdict and with the members that encoding/json reads.
func checkObject(t *testing.T, raw []byte, v verdict) {
	t.Helper()
	members := map[string]string{}
	var keys []string
	err := jsonb.Object(raw, func(key, value []byte) {
		keys = append(keys, string(key))
		members[string(key)] = string(value)
	})
	if !v.object || v.duplicates() {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, v.keys, keys)
	for key, value := range members {
		checkObjectWithin(t, raw, key, []byte(value))
	}
	var oracle map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &oracle))
	require.Len(t, members, len(oracle))
	for key, value := range oracle {
		require.Equal(t, string(value), members[key])
		if value[0] == '"' {
			var want string
			require.NoError(t, json.Unmarshal(value, &want))
			got, err := jsonb.Unquote(value)
			require.NoError(t, err)
			require.Equal(t, want, got)
			appended, err := jsonb.AppendUnquoted([]byte("x"), value)
			require.NoError(t, err)
			require.Equal(t, "x"+want, string(appended))
		}
	}
}

// checkObjectWithin compares the result of ObjectWithin for a member with Object on its value.
func checkObjectWithin(t *testing.T, raw []byte, key string, value []byte) {
	t.Helper()
	var want, got []string
	collect := func(into *[]string) jsonb.Visitor {
		return func(key, value []byte) { *into = append(*into, string(key)+"="+string(value)) }
	}
	var alone error
	if value[0] == '{' {
		alone = jsonb.Object(value, collect(&want))
	}
	within, err := jsonb.ObjectWithin(raw, nil, key, collect(&got))
	require.NoError(t, err)
	require.Equal(t, alone, within)
	require.Equal(t, want, got)
}

func FuzzAppendValue(f *testing.F) {
	for _, raw := range valid {
		f.Add([]byte(raw), "text", 1.5, int64(-3))
	}
	for _, number := range []float64{0, 0.1, 19.99, 1e21, 1e-7, 5e-324, 123456.789, -1e15, 0.000001} {
		f.Add([]byte(`{}`), "\u2028\x00é\\\"", number, int64(math.Float64bits(number)))
	}
	f.Add([]byte(`[]`), "\xff", math.NaN(), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, s string, number float64, i int64) {
		var e jsonb.Encoder
		var tree any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&tree) != nil {
			tree = nil
		}
		v := map[string]any{
			s: s, "float": number, "float32": float32(number), "int": i, "uint": uint64(i), "tree": tree, "struct": struct{ S []string }{[]string{s}},
			"strings": []string{s}, "map": map[string]string{s: s, s + "a": "", "b" + s: ""}, "bytes": raw, "floats": []float64{number}, "time": time.Unix(i%1e11, 0).UTC(),
		}
		if text, err := jsonb.AppendString(nil, s); err == nil {
			v["raw"] = json.RawMessage(text)
		}
		out, err := e.AppendValue(nil, v)
		good := utf8.ValidString(s) && !math.IsNaN(number) && !math.IsInf(float64(float32(number)), 0)
		if !good {
			require.Error(t, err)
			return
		}
		if err != nil { // data that was not read has no fault
			var fault *jsonb.Error
			require.ErrorAs(t, err, &fault)
			require.True(t, strings.HasPrefix(fault.Path, "tree") && (fault.Kind == jsonb.KindNumber || fault.Kind == jsonb.KindDepth) || fault.Path == "time", err.Error())
			return
		}
		require.NoError(t, jsonb.Valid(out))
		want := reference(t, v)
		if !strings.ContainsAny(want, "\u2028\u2029") && !strings.Contains(want, `\u202`) {
			require.Equal(t, want, string(out))
		}
		assert.Equal(t, decode(t, []byte(want)), decode(t, out))
	})
}

// decode keeps every digit of numbers.
func decode(t testing.TB, raw []byte) (v any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v))
	return v
}

var wideZone = regexp.MustCompile(`[+-](24:\d\d|\d\d:60)$`)

func FuzzTime(f *testing.F) {
	for _, text := range []string{
		"2012-08-15T05:55:00-07:00", "2024-02-29T23:59:59.123456789Z", "2024-05-01T12:30:60Z", "0000-01-01T00:00:00+00:01", "2024-05-01T12:30:00,5Z",
		"9999-12-31T23:59:59-23:59", "2023-02-29T00:00:00Z", "2024-05-01T24:00:00Z",
		"2024-02-29T00:00:00Z", "2000-02-29T23:59:59.9+00:00", "2024-12-31T23:59:59.123456789-23:59", "2024-05-01T12:30:00.000000000Z", "2024-05-01T12:30:00.100Z",
		"2024-05-01T12:30:00.000000001+05:45", "1969-12-31T23:59:59.5-00:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := jsonb.ParseTime([]byte(text))
		if err == nil && len(text) > 19 && text[17:19] == "60" {
			return // a leap second, which time.Parse does not know: see TestParseTimeOfRFC3339
		}
		text = strings.ToUpper(text) // RFC 3339 allows t and z, time.Parse does not
		want, oracleErr := time.Parse(time.RFC3339, text)
		// time.Parse also accepts a comma, more fraction digits, one-digit hours, zones of 24 hours or 60
		// minutes, and zones that leave the range of years.
		lax := strings.Contains(text, ",") || len(text) > len("2024-05-01T12:30:00.123456789+00:00") || len(text) > 12 && text[12] == ':' || wideZone.MatchString(text) ||
			oracleErr == nil && (want.UTC().Year() < 0 || want.UTC().Year() > 9999)
		if lax && err != nil {
			return
		}
		if dot := strings.IndexByte(text, '.'); dot > 0 && strings.IndexAny(text[dot:], "Z+-") > 10 {
			require.Error(t, err)
			return
		}
		require.Equal(t, oracleErr == nil, err == nil, "%v, %v", oracleErr, err)
		if err != nil {
			return
		}
		require.True(t, want.Equal(got))
		require.Equal(t, time.UTC, got.Location())
		var e jsonb.Encoder
		require.Equal(t, "x"+want.UTC().Format(time.RFC3339Nano), string(e.AppendTime([]byte("x"), want)))
	})
}
