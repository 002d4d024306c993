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
