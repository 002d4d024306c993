package lines_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

func TestNullsOfTables(t *testing.T) {
	const (
		unquoted = `{"a":"1","c":"x"}`
		given    = `{"a":"1","b":%q,"c":"x"}`
	)
	for name, tc := range map[string]struct {
		text, row, given string
		keep             bool
	}{
		`\N`:                          {"a,b,c\n1,\\N,x\n", unquoted, fmt.Sprintf(given, `\N`), false},
		`\N in quotes`:                {"a,b,c\n1,\"\\N\",x\n", unquoted, fmt.Sprintf(given, `\N`), false},
		`\N, tabs`:                    {"a\tb\tc\n1\t\\N\tx\n", unquoted, fmt.Sprintf(given, `\N`), false},
		"NULL":                        {"a,b,c\n1,NULL,x\n", unquoted, fmt.Sprintf(given, "NULL"), false},
		"null, semicolons":            {"a;b;c\r\n1;null;x\r\n", unquoted, fmt.Sprintf(given, "null"), false},
		"[NULL]":                      {"a,b,c\n1,[NULL],x\n", unquoted, fmt.Sprintf(given, "[NULL]"), false},
		"(null), no newline":          {"a,b,c\n1,(null),x", unquoted, fmt.Sprintf(given, "(null)"), false},
		"two, after blank lines":      {"a,b,c\n\n\n1,NULL,NULL\n", `{"a":"1"}`, `{"a":"1","b":"NULL","c":"NULL"}`, false},
		"in quotes it is a text":      {"a,b,c\n1,\"NULL\",x\n", `{"a":"1","b":"NULL","c":"x"}`, "", false},
		"quoted after a broken field": {"a,b,c\n\"1\n2\",\"NULL\",NULL\n", `{"a":"1\n2","b":"NULL"}`, `{"a":"1\n2","b":"NULL","c":"NULL"}`, false},
		"the first":                   {"a,b,c\n\\N,2,x\n", `{"b":"2","c":"x"}`, `{"a":"\\N","b":"2","c":"x"}`, false},
		"all":                         {"a,b,c\nNULL,NULL,NULL\n", `{}`, `{"a":"NULL","b":"NULL","c":"NULL"}`, false},
		"other words":                 {"a,b,c\nNone,nil,N/A\n", `{"a":"None","b":"nil","c":"N/A"}`, "", false},
		"kept":                        {"a,b,c\n1,\\N,x\n", `{"a":"1","b":"\\N","c":"x"}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var got, beginning []string
			w := lines.Walk{
				Options: lines.Options{Longest: 100, KeepNulls: tc.keep},
				Take: func(_ *lines.File, l lines.Line) bool {
					require.NoError(t, l.Fault)
					got, beginning = append(got, string(l.Text)), append(beginning, string(l.Beginning()))
					return true
				},
			}
			require.NoError(t, lines.NewFiles([]string{write(t, "t.csv", tc.text)}).Read(t.Context(), "", 0, w))
			if tc.given == "" {
				tc.given = tc.row
			}
			assert.Equal(t, []string{tc.row}, got)
			assert.Equal(t, []string{tc.given}, beginning, "what the uuid is derived from does not change")
		})
	}
}

// A row with a fault has its table with it, by which the corrected row is read as in its file.
func TestCorrectedRows(t *testing.T) {
	for name, tc := range map[string]struct {
		text      string
		columns   []string
		keep      bool
		corrected map[string]string // to the object, or to the error
	}{
		"CSV": {"a,b,b\n1,2\n3,4,5\n", nil, false, map[string]string{
			"1,2,3": `{"a":"1","b":"2","b_2":"3"}`, "1,\"2,\n\"\"x\",3\r\n": `{"a":"1","b":"2,\n\"x","b_2":"3"}`, `1,\N,NULL`: `{"a":"1"}`,
			` {"a":"1"} `: `{"a":"1"}`, "\n\n1,2,3\n\n": `{"a":"1","b":"2","b_2":"3"}`,
			"1,2": "the row has 2 fields, and the table 3 columns", "1,2,3\n4,5,6": "a rejected row became several: correct it to one row of 3 fields",
			"": "the row is empty", `1,"2,3`: "the quote that opens here has no end: the file was cut off, or a quote is missing",
		}},
		"semicolons":       {"a;b\n1;2;3\n", nil, false, map[string]string{`1;"2;3"`: `{"a":"1","b":"2;3"}`}},
		"tabs":             {"a\tb\n1\n", nil, false, map[string]string{"1\t": `{"a":"1","b":""}`, "\"1\t2": `{"a":"\"1","b":"2"}`}},
		"without a header": {"1,2,3\n1,2\n", []string{"a", "b"}, false, map[string]string{"1,2": `{"a":"1","b":"2"}`}},
		"NULLs are texts":  {"a,b\n1,2,3\n", nil, true, map[string]string{`1,\N`: `{"a":"1","b":"\\N"}`}},
		"a broken quote":   {"a,b\n1,2\"x\n", nil, false, map[string]string{"1,2": `{"a":"1","b":"2"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var table *lines.Table
			w := lines.Walk{
				Options: lines.Options{Longest: 100, KeepNulls: tc.keep, Columns: tc.columns},
				Take: func(_ *lines.File, l lines.Line) bool {
					if require.Equal(t, l.Fault != nil, l.Table != nil); l.Table != nil {
						table = l.Table
					}
					return true
				},
			}
			require.NoError(t, lines.NewFiles([]string{write(t, "t.csv", tc.text)}).Read(t.Context(), "", 0, w))
			require.NotNil(t, table)
			for corrected, want := range tc.corrected {
				got, err := table.Record([]byte(corrected))
				if err != nil {
					got = []byte(err.Error())
				}
				assert.Equal(t, want, string(got), "%q", corrected)
			}
		})
	}
}
