package engine

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

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
)

func judged(r httptry.Try, answered bool) (delivery.Verdict, event.StopReason) {
	a, reason := judge(r, batch{}, nil, answered, false)
	return a.Verdict, reason
}

// Only the service's own words settle events. Any other answer stops the import, except that a cut answer is waited
// out.
func TestJudgeSuccess(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		verdict delivery.Verdict
		reason  event.StopReason
	}{
		{200, `{"status":"Ok"}`, delivery.Settled, ""},
		{200, ` {"status" : 1} `, delivery.Settled, ""},
		{201, `{"status":"ok","new":{"status":"no"}}`, delivery.Settled, ""},
		{204, "", delivery.Stop, event.StopNotService}, // whoever says nothing may be anybody
		{204, " \r\n", delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok","quota_limited":[]}`, delivery.Settled, ""},
		{200, `{"status":"Ok","quota_limited":null}`, delivery.Settled, ""},
		{200, `{"status":"Ok","quota_limited":["events"]}`, delivery.Stop, event.StopQuota},
		{200, `{"quota_limited":["recordings"]}`, delivery.Stop, event.StopQuota},
		{200, `{"status":"Ok","quota_limited":"events"}`, delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok"`, delivery.Wait, ""},
		{200, `[{"status":"Ok"}`, delivery.Wait, ""},
		{204, `{"status":`, delivery.Wait, ""},
		{200, "", delivery.Stop, event.StopNotService},
		{200, `{}`, delivery.Stop, event.StopNotService},
		{200, `null`, delivery.Stop, event.StopNotService},
		{200, `"Ok"`, delivery.Stop, event.StopNotService},
		{200, `[]`, delivery.Stop, event.StopNotService},
		{200, `{"status":0}`, delivery.Stop, event.StopNotService},
		{200, `{"status":true}`, delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok "}`, delivery.Stop, event.StopNotService},
		{200, `{"STATUS":"Ok"}`, delivery.Stop, event.StopNotService},
		{200, "<html>Ok</html>", delivery.Stop, event.StopNotService},
		{200, "Ok", delivery.Stop, event.StopNotService},
		// Two answers in one body, of which nobody knows which one counts.
		{200, `{"status":"Ok"}{"status":"Ok"}`, delivery.Wait, ""},
		{200, `{"status":"error","status":"Ok"}`, delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok","quota_limited":["events"],"quota_limited":[]}`, delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok","quota_limited":["events"],"quota_limite\u0064":[]}`, delivery.Stop, event.StopNotService},
		{200, `{"status":"Ok","note":"` + "\xff" + `"}`, delivery.Stop, event.StopNotService},
	} {
		verdict, reason := judged(httptry.Try{Status: tt.status, Body: []byte(tt.body)}, true)
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
			err := []error{io.ErrUnexpectedEOF, httptry.ErrForeignOrigin, fmt.Errorf("%w", httptry.ErrTooBig), &net.DNSError{IsNotFound: true}, httptry.ErrTimeout}[status%5]
			verdict, reason := judged(httptry.Try{Err: err}, true)
			stops := errors.Is(err, httptry.ErrForeignOrigin) || errors.Is(err, httptry.ErrTooBig)
			require.Equal(t, stops, verdict == delivery.Stop)
			require.Equal(t, stops, reason == event.StopNotService)
			require.Equal(t, !stops, verdict == delivery.Wait)
			return
		}
		verdict, reason := judged(httptry.Try{Status: int(status), Body: body}, true)
		require.Equal(t, verdict == delivery.Stop, reason != "")
		refusal := delivery.Split
		if len(body) > 4096 || strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			refusal = delivery.Stop
		}
		want := map[uint16]delivery.Verdict{400: refusal, 413: delivery.Split, 408: delivery.Wait, 425: delivery.Wait, 429: delivery.Wait, 501: delivery.Stop}
		wanted, known := want[status]
		switch {
		case known:
		case status < 300:
			wanted = judgeAgain(t, body)
		case status < 500:
			wanted = delivery.Stop
		default:
			wanted = delivery.Wait
		}
		require.Equal(t, wanted, verdict, "%d %q", status, body)
	})
}

// judgeAgain reads a success token by token.
func judgeAgain(t *testing.T, body []byte) delivery.Verdict {
	t.Helper()
	text := strings.TrimSpace(string(body))
	switch {
	case !json.Valid([]byte(text)) && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")):
		return delivery.Wait
	case jsonb.Valid(body) != nil || text[0] != '{': // which has an oracle of its own
		return delivery.Stop
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
			return delivery.Stop
		}
		members[key.(string)] = value
	}
	var limited []string
	if quota, sent := members["quota_limited"]; sent && json.Unmarshal(quota, &limited) != nil || len(limited) > 0 {
		return delivery.Stop
	}
	if word := string(members["status"]); word == "1" || strings.EqualFold(word, `"ok"`) {
		return delivery.Settled
	}
	return delivery.Stop
}
