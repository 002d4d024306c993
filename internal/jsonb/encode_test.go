package jsonb_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// reference is the output of encoding/json without HTML escaping. It escapes U+2028 and U+2029,
// although JSON does not require it.
func reference(t testing.TB, v any) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSuffix(out.String(), "\n")
}

func encode(t testing.TB, v any) string {
	t.Helper()
	var e jsonb.Encoder
	out, err := e.AppendValue([]byte("x"), v)
	require.NoError(t, err)
	require.Equal(t, "x", string(out[:1]))
	require.NoError(t, jsonb.Valid(out[1:]), "what is written can be read")
	return string(out[1:])
}

func fault(t testing.TB, v any) jsonb.Error {
	t.Helper()
	var e jsonb.Encoder
	out, err := e.AppendValue([]byte("x"), v)
	var f *jsonb.Error
	require.ErrorAs(t, err, &f)
	assert.Equal(t, "x", string(out), "nothing is appended on an error")
	// The error leaves no trace in the encoder.
	again, err := e.AppendValue(nil, map[string]any{"b": 1, "a": map[string]string{"d": "2", "c": "3"}})
	require.NoError(t, err)
	assert.Equal(t, `{"a":{"c":"3","d":"2"},"b":1}`, string(again))
	return *f
}

type (
	text     string
	count    int
	Embedded struct {
		Inner string `json:"inner"`
		Twice string `json:"twice"`
	}
	record struct {
		Embedded
		*Pointer
		Name    string         `json:"name"`
		Twice   int            `json:"twice"`
		Empty   string         `json:"empty,omitempty"`
		Zero    time.Time      `json:"zero,omitzero"`
		Quoted  int64          `json:"quoted,string"`
		Skipped string         `json:"-"`
		Any     map[string]any `json:"any"`
		hidden  string
	}
	Pointer struct{ P *float64 }
	quoted  struct {
		S string `json:"s,string"`
	}
	holder   struct{ Raw json.RawMessage }
	marshals struct{ raw string }
	upper    string
	panics   struct{ value any }
	fails    struct{}
	ring     struct{ Next *ring }
	hairy    struct {
		S    string `json:"s,string"`
		loop *hairy
	}
)

var errMarshal = errors.New("no way")

func (m marshals) MarshalJSON() ([]byte, error) { return []byte(m.raw), nil }
func (u upper) MarshalText() ([]byte, error) {
	return []byte(strings.ReplaceAll(string(u), "up", "UP")), nil
}
func (p panics) MarshalJSON() ([]byte, error) { panic(p.value) }
func (fails) MarshalJSON() ([]byte, error)    { return nil, errMarshal }

// values are typical property values; the encoder must write each as encoding/json does.
func values() []any {
	zone := time.FixedZone("", -7*3600)
	var nilMap map[string]any
	return []any{
		nil, true, false, "", "plain", "quote\" back\\ slash/ <html>&", "\x00\x01\x1f\x7f\b\f\n\r\t", "é€😀 Привет 日本語 \ufffd",
		strings.Repeat("0123456", 20) + "\n", text("named"), upper("up"), new("p"), (*string)(nil),
		0, 1, -1, math.MaxInt32, math.MinInt32, int8(-128), int16(-32768), int32(math.MinInt32), int64(math.MinInt64), int64(math.MaxInt64),
		uint(7), uint8(255), uint16(65535), uint32(math.MaxUint32), uint64(math.MaxUint64), uintptr(9), count(5),
		new(3), new(int64(4)), new(int32(4)), new(true), new(1.5), new(new(6)),
		(*int)(nil), (*int64)(nil), (*int32)(nil), (*bool)(nil), (*float64)(nil), (*time.Time)(nil), (*big.Int)(nil), (*record)(nil), (**int)(nil),
		(*json.Number)(nil), (*json.RawMessage)(nil), (*map[string]any)(nil), (*[]any)(nil), (*[]string)(nil), (*marshals)(nil),
		0.0, math.Copysign(0, -1), 1.0, -1.0, 0.1, 1e20, 1e21, -1e21, 1e-6, 9.99e-7, 1e-7, 1e-9, 1e-10, 1.5e300, math.MaxFloat64, math.SmallestNonzeroFloat64,
		123456789.125, 349.5, 19.99, 100.25, 999999999999999.0, 1e15, 9007199254740991.0, 9007199254740993.0, 0.30000000000000004, 1.0 / 3, 2.5e-5, 0.000001,
		float32(0.1), float32(16777216), float32(123456789), float32(1e21), float32(1e-7), float32(math.MaxFloat32), float32(3.4), math.Float32frombits(1 << 31),
		json.Number("12345678901234567890.0123456789"), json.Number("-0"), json.Number("1E5"), new(json.Number("1.0")),
		json.RawMessage(` { "b" : 1.000 , "a" : [ ] } `), json.RawMessage(nil), json.RawMessage(`"\u00e9\/"`), new(json.RawMessage(`[1]`)),
		time.Date(2024, 5, 1, 12, 30, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 5, 1, 12, 30, 0, 120_000_000, zone),
		new(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)), 90 * time.Second, time.March,
		[]byte("binary\x00\xff"), []byte{}, []byte(nil), [3]byte{1, 2, 3},
		[]any{}, []any(nil), []any{nil, 1, "a", []any{2.5}}, []string{"a", "\n"}, []string{}, []string(nil), []int{1, -2}, []int(nil), []int64{1 << 60}, []int32{1},
		[]float64{1, 0.5}, []float64(nil), []bool{true}, [2]int{1, 2}, []map[string]any{{"a": 1}, nil}, []time.Time{time.Unix(0, 0).UTC()}, []text{"x"}, []*int{nil, new(1)},
		nilMap, map[string]any{}, map[string]any{"b": 1, "a": nil, "": "", "é": 1, "aa": 1, "\n": 2, "A": 1, "longer key 1": 1, "longer key 2": 1, "longer ke": 1},
		map[string]string{"b": "1", "a": "2"}, map[string]string(nil), map[string]string{}, map[string]int{"z": 1, "y": 2}, map[string]int64{"z": 1}, map[string]float64{"z": 0.5},
		map[string]bool{"t": true}, map[text]any{"k": 1}, map[string][]string{"k": {"a"}}, new(map[string]any{"a": 1}), new([]any{1}), new([]string{"a"}),
		map[int]string{10: "ten", 9: "nine", -1: "minus"}, map[uint8]bool{1: true}, map[upper]int{"k": 1, "a": 2}, map[netip.Addr]int{netip.MustParseAddr("::1"): 1},
		record{Embedded: Embedded{"i", "outer wins"}, Pointer: &Pointer{new(2.5)}, Name: "n", Quoted: 5, Skipped: "s", Any: map[string]any{"k": []any{1}}, hidden: "h"},
		&record{}, struct{}{}, quoted{"a\"b"}, quoted{`\ufffd`}, quoted{"\ufffd"}, Embedded{`the text \ufffd`, "\ufffd"}, holder{json.RawMessage(`{"a": 1e5}`)}, holder{},
		marshals{` { "a" : 1.0 } `}, &marshals{`"\u0041"`}, []marshals{{`1`}}, big.NewInt(math.MaxInt64), new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil), new(big.Float).SetFloat64(2.5),
		netip.MustParseAddr("192.0.2.1"), hairy{S: `\ufffd`},
	}
}

// The encodings are the encodings of encoding/json, and the same on every machine and in every version.
func TestAppendValue(t *testing.T) {
	all, encodings := values(), ""
	for _, v := range all {
		want := reference(t, v)
		got := encode(t, v)
		assert.Equal(t, want, got, "%T", v)
		assert.Equal(t, "["+want+"]", encode(t, []any{v}), "%T", v)
		assert.Equal(t, `{"k":{"k":`+want+`}}`, encode(t, map[string]any{"k": map[string]any{"k": v}}), "%T", v)
		encodings += got + "\n"
	}
	var e jsonb.Encoder // its reused scratch space never shows
	for _, i := range rand.New(rand.NewPCG(5, 6)).Perm(len(all)) {
		out, err := e.AppendValue(nil, all[i])
		require.NoError(t, err)
		assert.Equal(t, strings.Split(encodings, "\n")[i], string(out))
	}
	const name = "testdata/encodings.jsonl"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(name, []byte(encodings), 0o600))
	}
	golden, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, string(golden), encodings)

	assert.Equal(t, "\"\u2028\u2029\"", encode(t, "\u2028\u2029"), "needs no escape in JSON")
	assert.Equal(t, `{"S":"\u2028"}`, encode(t, struct{ S string }{"\u2028"}))
	assert.Equal(t, `"\ufffd"`, encode(t, json.RawMessage(`"\ufffd"`)), "written so by the caller")
}

func TestAppendValueRefuses(t *testing.T) {
	cycle := map[string]any{}
	cycle["list"] = []any{map[string]any{"again": cycle}}
	slice := make([]any, 1)
	slice[0] = slice
	loop := &ring{}
	loop.Next = loop
	var self any
	self = &self
	deep := func(depth int) (v any) {
		v = 1
		for range depth {
			v = map[string]any{"d": v}
		}
		return v
	}
	require.NotEmpty(t, encode(t, deep(100)))
	require.NotEmpty(t, encode(t, map[string]any{"a": json.RawMessage(nested(99))}))
	bad := "abcdefghij\xffk"

	for name, c := range map[string]struct {
		v    any
		want jsonb.Error
	}{
		"text":                  {bad, jsonb.Error{Kind: jsonb.KindUTF8, Offset: 10}},
		"text in values":        {map[string]any{"a": []any{0, map[string]any{"b c": bad}}}, jsonb.Error{Kind: jsonb.KindUTF8, Path: `a[1]["b c"]`, Offset: 10}},
		"key":                   {map[string]any{"a": map[string]any{"k\xff": 1}}, jsonb.Error{Kind: jsonb.KindUTF8, Path: `a["k\xff"]`, Offset: 1}},
		"key of strings":        {map[string]string{"k\xff": ""}, jsonb.Error{Kind: jsonb.KindUTF8, Path: `["k\xff"]`, Offset: 1}},
		"strings":               {[]string{"", bad}, jsonb.Error{Kind: jsonb.KindUTF8, Path: "[1]", Offset: 10}},
		"map of strings":        {map[string]string{"k": bad}, jsonb.Error{Kind: jsonb.KindUTF8, Path: "k", Offset: 10}},
		"surrogate bytes":       {"\xed\xa0\x80", jsonb.Error{Kind: jsonb.KindUTF8}},
		"cut rune":              {"é"[:1], jsonb.Error{Kind: jsonb.KindUTF8}},
		"named text":            {map[string]any{"a": text(bad)}, jsonb.Error{Kind: jsonb.KindUTF8, Path: "a"}},
		"struct":                {Embedded{Inner: bad}, jsonb.Error{Kind: jsonb.KindUTF8}},
		"struct, after a slash": {Embedded{Inner: `\\` + bad}, jsonb.Error{Kind: jsonb.KindUTF8}},
		"string option":         {quoted{bad}, jsonb.Error{Kind: jsonb.KindUTF8}},
		"string option, deep":   {map[text][]*quoted{"k": {nil, {bad}}}, jsonb.Error{Kind: jsonb.KindUTF8}},
		"text marshaler":        {upper(bad), jsonb.Error{Kind: jsonb.KindUTF8}},
		"text marshaler key":    {map[upper]int{upper(bad): 1}, jsonb.Error{Kind: jsonb.KindUTF8}},
		"marshaler":             {marshals{`{"a":"` + bad + `"}`}, jsonb.Error{Kind: jsonb.KindUTF8, Path: "a", Offset: 16}},
		"marshaler in marshaler": {map[string]any{"k": holder{json.RawMessage(`"` + bad + `"`)}},
			jsonb.Error{Kind: jsonb.KindUTF8, Path: "k.Raw", Offset: 18}},
		"raw text":           {json.RawMessage("[\"\xff\"]"), jsonb.Error{Kind: jsonb.KindUTF8, Path: "[0]", Offset: 2}},
		"raw surrogate":      {map[string]any{"r": json.RawMessage(`{"a":"\udead"}`)}, jsonb.Error{Kind: jsonb.KindSurrogate, Path: "r.a", Offset: 6}},
		"marshal surrogate":  {marshals{`"\ud800"`}, jsonb.Error{Kind: jsonb.KindSurrogate, Offset: 1}},
		"NaN":                {[]any{math.NaN()}, jsonb.Error{Kind: jsonb.KindNumber, Path: "[0]"}},
		"infinity":           {math.Inf(-1), jsonb.Error{Kind: jsonb.KindNumber}},
		"floats":             {[]float64{1, math.Inf(1)}, jsonb.Error{Kind: jsonb.KindNumber, Path: "[1]"}},
		"map of floats":      {map[string]float64{"a": math.NaN()}, jsonb.Error{Kind: jsonb.KindNumber, Path: "a"}},
		"struct with NaN":    {Pointer{new(math.NaN())}, jsonb.Error{Kind: jsonb.KindNumber}},
		"float32 array":      {[1]float32{float32(math.NaN())}, jsonb.Error{Kind: jsonb.KindNumber}},
		"number in a struct": {map[string]any{"a": struct{ N json.Number }{"secret"}}, jsonb.Error{Kind: jsonb.KindNumber, Path: "a"}},
		"numbers":            {[]json.Number{"1", "secret"}, jsonb.Error{Kind: jsonb.KindNumber}},
		"no number":          {json.Number(""), jsonb.Error{Kind: jsonb.KindNumber}},
		"word":               {json.Number("12a"), jsonb.Error{Kind: jsonb.KindNumber}},
		"huge big number":    {new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil), jsonb.Error{Kind: jsonb.KindNumber}},
		"depth":              {deep(101), jsonb.Error{Kind: jsonb.KindDepth, Path: strings.TrimSuffix(strings.Repeat("d.", 100), ".")}},
		"depth of raw": {map[string]any{"a": json.RawMessage(nested(100))},
			jsonb.Error{Kind: jsonb.KindDepth, Path: "a" + strings.Repeat("[0]", 99), Offset: 99}},
		"depth of struct": {map[string]any{"a": holder{json.RawMessage(nested(99))}},
			jsonb.Error{Kind: jsonb.KindDepth, Path: "a.Raw" + strings.Repeat("[0]", 98), Offset: 105}},
		"slice cycle":   {slice, jsonb.Error{Kind: jsonb.KindDepth, Path: strings.Repeat("[0]", 100)}},
		"struct cycle":  {loop, jsonb.Error{Kind: jsonb.KindDepth}},
		"pointer cycle": {self, jsonb.Error{Kind: jsonb.KindDepth}},
		"bad JSON":      {json.RawMessage(`{"a":}`), jsonb.Error{Kind: jsonb.KindSyntax, Path: "a", Offset: 5}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, fault(t, c.v)) })
	}
	assert.Equal(t, jsonb.KindDepth, fault(t, cycle).Kind)

	for name, v := range map[string]any{
		"function": func() {}, "channel": make(chan int), "complex": 1i, "map key": map[struct{}]int{{}: 1}, "marshal error": fails{},
		"marshal syntax": marshals{`{`}, "year": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "panic": panics{"secret"},
		"panic in a struct": struct{ P panics }{}, "runtime panic": panics{errors.New("x")},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault(t, map[string]any{"k": []any{v}})
			assert.Equal(t, jsonb.KindType, f.Kind)
			assert.Equal(t, "k[0]", f.Path)
			require.Error(t, f.Err)
			assert.NotContains(t, f.Error(), "secret")
		})
	}
	f := fault(t, fails{})
	assert.ErrorIs(t, &f, errMarshal)
}

// A cycle in an unexported field does not hang the search for bad text.
func TestAppendValueHairy(t *testing.T) {
	v := hairy{S: `\ufffd` + "\xff"}
	v.loop = &v
	assert.Equal(t, jsonb.Error{Kind: jsonb.KindUTF8}, fault(t, v))
	v.S = `\ufffd`
	assert.Equal(t, reference(t, v), encode(t, v))
}

func TestAppendMembers(t *testing.T) {
	var e jsonb.Encoder
	for _, m := range []map[string]any{nil, {}} {
		out, err := e.AppendMembers([]byte("x"), m)
		require.NoError(t, err)
		assert.Equal(t, "x", string(out))
	}
	out, err := e.AppendMembers([]byte("x"), map[string]any{"a": 1, "b": math.NaN()})
	require.Error(t, err)
	assert.Equal(t, "x", string(out))
}

// The encoder caches the shapes of maps. Cached and new shapes must give the same result, also with
// other values, with nested maps of the same size, and after maps of any size with keys that share their first eight bytes.
func TestAppendMembersRemembered(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var e jsonb.Encoder
	var shaped func(depth int) map[string]any
	shaped = func(depth int) map[string]any {
		m := map[string]any{}
		first := random.IntN(2) * random.IntN(2) * random.IntN(8) // mostly the same
		for i := range 3 + random.IntN(3) {
			m["\"key\" "+strconv.Itoa(first+i)] = random.IntN(1000)
		}
		if depth > 0 {
			m["nested"], m["a"] = shaped(depth-1), []any{shaped(depth - 1)}
		}
		return m
	}
	for i := range 2000 {
		m := shaped(2)
		for range i % 7 / 6 * random.IntN(70) {
			key := strings.Repeat("prefix", random.IntN(3)) + strings.Repeat("\x00", random.IntN(3)) + strconv.Itoa(random.IntN(50)) + strings.Repeat("é", random.IntN(4))
			m[key] = random.IntN(1000)
		}
		out, err := e.AppendMembers(nil, m)
		require.NoError(t, err)
		require.Equal(t, reference(t, m), "{"+string(out)+"}")
	}
	m := shaped(2)
	m["bad"] = math.NaN()
	for range 3 {
		_, err := e.AppendMembers(nil, m)
		require.EqualError(t, err, "not a finite JSON number in bad")
	}
}

// The cache holds copies of keys, not the caller's strings.
func TestAppendMembersCopiesKeys(t *testing.T) {
	var e jsonb.Encoder
	buffer := []byte("abc")
	key := unsafe.String(&buffer[0], len(buffer))
	_, err := e.AppendMembers(nil, map[string]any{key: 1, "d": 2, "e": 3})
	require.NoError(t, err)
	copy(buffer, "xyz")
	out, err := e.AppendMembers(nil, map[string]any{"abc": 1, "d": 2, "e": 3})
	require.NoError(t, err)
	assert.Equal(t, `"abc":1,"d":2,"e":3`, string(out))
	out, err = e.AppendMembers(nil, map[string]any{"xyz": 1, "d": 2, "e": 3})
	require.NoError(t, err)
	assert.Equal(t, `"d":2,"e":3,"xyz":1`, string(out))
}

// Floats get the shortest text that parses to the same value, as in encoding/json.
func TestAppendValueFloats(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	check := func(f float64) {
		t.Helper()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		if got, want := encode(t, f), reference(t, f); got != want {
			t.Fatalf("%s instead of %s", got, want)
		}
	}
	powers := []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e8, 1e12}
	for range 4_000 {
		check(math.Float64frombits(random.Uint64()))
		whole := float64(random.Int64N(1 << random.IntN(62)))
		for _, p := range powers {
			check(whole / p)
			check(-whole * p)
			check(math.Nextafter(whole/p, 0))
			check(float64(float32(whole / p)))
		}
		f := math.Float32frombits(random.Uint32())
		if f == f && !math.IsInf(float64(f), 0) {
			require.Equal(t, reference(t, f), encode(t, f))
		}
	}
}

func TestAppendString(t *testing.T) {
	for c := range 0x80 {
		for before := range 17 {
			s := strings.Repeat("x", before) + string(rune(c)) + strings.Repeat("y", 16-before)
			got, err := jsonb.AppendString([]byte("x"), s)
			require.NoError(t, err)
			assert.Equal(t, "x"+reference(t, s), string(got))
		}
	}
	for c := 0x80; c < 0x100; c++ {
		for before := range 17 {
			got, err := jsonb.AppendString([]byte("x"), strings.Repeat("x", before)+string([]byte{byte(c)})+strings.Repeat("y", 16-before))
			require.Equal(t, &jsonb.Error{Kind: jsonb.KindUTF8, Offset: before}, err)
			assert.Equal(t, "x", string(got))
		}
	}
}

// A large value, or a copy of the encoder, does not affect later values.
func TestEncoderAfterLargeValue(t *testing.T) {
	var e jsonb.Encoder
	large := map[string]any{"text": text(strings.Repeat("x", 2<<20))}
	for i := range 10_000 {
		large[strconv.Itoa(i)] = i
	}
	for range 2 {
		out, err := e.AppendValue(nil, large)
		require.NoError(t, err)
		require.Equal(t, reference(t, large), string(out))
		twin := e
		for _, encoder := range []*jsonb.Encoder{&twin, &e} {
			out, err = encoder.AppendValue(nil, map[string]any{"c": text("t"), "b": 1, "a": 2})
			require.NoError(t, err)
			assert.Equal(t, `{"a":2,"b":1,"c":"t"}`, string(out))
		}
	}
}

func TestEncoderAllocates(t *testing.T) {
	var e jsonb.Encoder
	var dst []byte
	m := properties()
	m["strings"], m["time"], m["number"] = []string{"a", "b"}, time.Unix(1e9, 0), json.Number("12.50")
	m["map"], m["raw"], m["pointer"] = map[string]string{"a": "b"}, json.RawMessage(`{"a": 1}`), new("p")
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst, _ = e.AppendMembers(dst[:0], m) }))
	require.NotEmpty(t, dst)
}

// Only members of the map itself are visited, also where nested maps replace its plan while it is written.
func TestAppendVisited(t *testing.T) {
	var e jsonb.Encoder
	var inside []any
	for i := range 100 {
		inside = append(inside, map[string]any{"x": i, "y": i, "z": i})
	}
	m := map[string]any{"b": 1, "a": inside, "c": "x"}
	for range 3 { // the first sorts the keys, later ones use the plan
		var seen []string
		out, err := e.AppendVisited(nil, m, func(key string, value []byte) { seen = append(seen, key+"="+string(value)) })
		require.NoError(t, err)
		assert.Equal(t, reference(t, m), "{"+string(out)+"}")
		assert.Equal(t, []string{"a=" + reference(t, inside), "b=1", `c="x"`}, seen)
	}
	_, err := e.AppendMembers(nil, m)
	require.NoError(t, err)
}

// Bytes become base64, so they need no search for bad UTF-8, however many there are.
func TestBytesBesideAReplacementCharacter(t *testing.T) {
	v := struct {
		Text  string
		Bytes []byte
	}{"\ufffd", make([]byte, 200_000)}
	assert.Equal(t, reference(t, v), encode(t, v))
}
