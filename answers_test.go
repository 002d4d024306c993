package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Only the service's own words settle events. What is not one of them stops the import, or is waited out where it was cut.
func TestJudgeSuccess(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		verdict answerVerdict
		reason  StopReason
	}{
		{200, `{"status":"Ok"}`, answerSettled, ""},
		{200, ` {"status" : 1} `, answerSettled, ""},
		{201, `{"status":"ok","new":{"status":"no"}}`, answerSettled, ""},
		{204, "", answerSettled, ""},
		{204, " \r\n", answerSettled, ""},
		{200, `{"status":"Ok","quota_limited":[]}`, answerSettled, ""},
		{200, `{"status":"Ok","quota_limited":null}`, answerSettled, ""},
		{200, `{"status":"Ok","quota_limited":["events"]}`, answerStop, StopQuota},
		{200, `{"quota_limited":["recordings"]}`, answerStop, StopQuota},
		{200, `{"status":"Ok","quota_limited":"events"}`, answerStop, StopNotService},
		{200, `{"status":"Ok"`, answerWait, ""},
		{200, `[{"status":"Ok"}`, answerWait, ""},
		{204, `{"status":`, answerWait, ""},
		{200, "", answerStop, StopNotService},
		{200, `{}`, answerStop, StopNotService},
		{200, `null`, answerStop, StopNotService},
		{200, `"Ok"`, answerStop, StopNotService},
		{200, `[]`, answerStop, StopNotService},
		{200, `{"status":0}`, answerStop, StopNotService},
		{200, `{"status":true}`, answerStop, StopNotService},
		{200, `{"status":"Ok "}`, answerStop, StopNotService},
		{200, `{"STATUS":"Ok"}`, answerStop, StopNotService},
		{200, "<html>Ok</html>", answerStop, StopNotService},
		{200, "Ok", answerStop, StopNotService},
		// Two answers in one body, of which nobody knows which one counts.
		{200, `{"status":"Ok"}{"status":"Ok"}`, answerWait, ""},
		{200, `{"status":"error","status":"Ok"}`, answerStop, StopNotService},
		{200, `{"status":"Ok","quota_limited":["events"],"quota_limited":[]}`, answerStop, StopNotService},
		{200, `{"status":"Ok","quota_limited":["events"],"quota_limite\u0064":[]}`, answerStop, StopNotService},
		{200, `{"status":"Ok","note":"` + "\xff" + `"}`, answerStop, StopNotService},
	} {
		verdict, reason := judge(tt.status, []byte(tt.body), nil)
		assert.Equal(t, tt.verdict, verdict, "%d %s", tt.status, tt.body)
		assert.Equal(t, tt.reason, reason, "%d %s", tt.status, tt.body)
	}
}

// FuzzCaptureAnswer compares with a second reading of the answer. Nothing else than a clear yes settles events.
func FuzzCaptureAnswer(f *testing.F) {
	for _, body := range []string{
		"", " ", `{"status":"Ok"}`, `{"status":1}`, `{"status":"Ok","quota_limited":["events"]}`, `{"status":"Ok","quota_limited":[],"quota_limited":["x"]}`,
		`{"status":"Ok"`, `{"status":"Ok"}{}`, `{"status":"no","status":"Ok"}`, `{"status":"\u004fk"}`, `[1]`, "null", "<html>", "{\"a\":\"\xff\"}",
	} {
		for _, status := range []uint16{0, 1, 2, 3, 4, 200, 204, 307, 400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 501, 503, 599} {
			f.Add(status, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		if status < 200 || status > 999 { // of no final answer: the try has failed
			err := []error{io.ErrUnexpectedEOF, errForeignOrigin, fmt.Errorf("%w", errAnswerTooBig), &net.DNSError{IsNotFound: true}, errTryTimeout}[status%5]
			verdict, reason := judge(0, nil, err)
			stops := errors.Is(err, errForeignOrigin) || errors.Is(err, errAnswerTooBig)
			require.Equal(t, stops, verdict == answerStop)
			require.Equal(t, stops, reason == StopRefused)
			require.Equal(t, !stops, verdict == answerWait)
			return
		}
		verdict, reason := judge(int(status), body, nil)
		require.Equal(t, verdict == answerStop, reason != "")
		want := map[uint16]answerVerdict{400: answerSplit, 413: answerSplit, 408: answerWait, 429: answerWait, 501: answerStop}
		wanted, known := want[status]
		switch {
		case known:
		case status < 300:
			wanted = judgeAgain(t, status, body)
		case status < 500:
			wanted = answerStop
		default:
			wanted = answerWait
		}
		require.Equal(t, wanted, verdict, "%d %q", status, body)
	})
}

// judgeAgain reads a success token by token.
func judgeAgain(t *testing.T, status uint16, body []byte) answerVerdict {
	t.Helper()
	text := strings.TrimSpace(string(body))
	switch {
	case text == "" && status == 204:
		return answerSettled
	case !json.Valid([]byte(text)) && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")):
		return answerWait
	case jsonb.Valid(body) != nil || text[0] != '{': // which has an oracle of its own
		return answerStop
	}
	members := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(body))
	_, _ = d.Token()
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		if _, twice := members[key.(string)]; twice {
			return answerStop
		}
		members[key.(string)] = value
	}
	var limited []string
	if quota, sent := members["quota_limited"]; sent && json.Unmarshal(quota, &limited) != nil || len(limited) > 0 {
		return answerStop
	}
	if word := string(members["status"]); word == "1" || strings.EqualFold(word, `"ok"`) {
		return answerSettled
	}
	return answerStop
}
