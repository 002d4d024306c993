package lines_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

// An export that broke off looks like one bad line, and the rest of the history is missing.
func TestExportsThatBrokeOff(t *testing.T) {
	t.Parallel()
	const good = `{"event":"a","time":1}` + "\n"
	const table = "a,b,c\n1,2,3\n"
	for text, want := range map[string]string{
		good + "export terminated early\n":                                          "line 2 is a message that the export ended early",
		good + "terminated early":                                                   "ended early",
		good + "export terminated early\n" + good:                                   "ended early",
		good + `{"error":"Timeout: too long","request":"/export"}` + "\n\n \n":      "line 2 is the answer of a service that failed",
		good + `{"result":"error","message":"token_auth is missing"}`:               "the answer of a service that failed",
		good + `{"status":"error","message":"rate limit"}` + "\r\n":                 "the answer of a service that failed",
		good + `{"event":"a","ti` + "\n":                                            "line 2 is the beginning of a record",
		good + "<html><body>504 Gateway Time-out</body></html>\n":                   "a message of an error and no record",
		good + "upstream request timeout":                                           "a message of an error and no record",
		good + "curl: (18) transfer closed with outstanding read data remaining\n":  "a message of an error and no record",
		table + "upstream request timeout\n":                                        "line 3 is a message of an error and no row",
		table + "Traceback (most recent call last):\n  File x\nE\n":                 "a message of an error and no row",
		good + "export terminated early\n" + strings.Repeat(" \n", 1000):            "ended early",
		good + `{"error":"declined","user":"u"}` + "\n":                             "",
		good + `{"error":"declined"}` + "\n" + good:                                 "",
		good + `{"event":"timeout"}`:                                                "",
		good + "not JSON\n":                                                         "",
		good + `{"status":"ok","message":"done"}`:                                   "",
		`{"event":"a","ti` + "\n" + good:                                            "",
		table + "export of a timeout,2,3\n":                                         "",
		table + `"a long text, which says that the gateway has a timeout",2` + "\n": "",
	} {
		var got []string
		w := lines.Walk{Options: lines.Options{Longest: 1000}, Take: func(_ *lines.File, l lines.Line) bool {
			got = append(got, string(l.Text))
			return true
		}}
		err := lines.NewFiles([]string{write(t, "f", text)}).Read(t.Context(), "", 0, w)
		if want == "" {
			require.NoError(t, err, text)
			assert.GreaterOrEqual(t, len(got), 2, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "the export broke off, and what follows is missing; get the file again", text)
		assert.Len(t, got, 1, text)
	}
}
