package hogapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// batchOperation has another origin than the management calls, no prefix, and the key in the body.
var batchOperation = operation{ops.Capture, http.MethodPost, "/batch/", "", ReplayIdempotent}

// batchEndpoint sends events to /batch/, which answers a request with a word for all its events. The
// key is in the body, so it holds none: fmt would print it at any depth.
type batchEndpoint struct{ core *core }

func (batchEndpoint) name() Protocol                        { return ProtocolBatch }
func (batchEndpoint) rules() wire.Protocol                  { return wire.ProtocolBatch }
func (batchEndpoint) operation() operation                  { return batchOperation }
func (batchEndpoint) header(http.Header, *delivery.Request) {}

// mostBytes of an answer, which is a word; each lane may hold one.
func (batchEndpoint) mostBytes(int) int64 { return 64 << 10 }

func (b batchEndpoint) around(time.Time) (prefix, suffix []byte) {
	return []byte(`{"api_key":` + strconv.Quote(b.core.projectKey()) + `,"historical_migration":true,"batch":[`), []byte("]}")
}

func (batchEndpoint) refusal(captureAnswer) StopReason { return "" }

// success accepts only the service's own words: "Ok" of current servers, 1 of old ones. A key that is
// there twice is neither: of two answers in one nobody knows which one counts.
func (batchEndpoint) success(r captureAnswer, _ *delivery.Request) (a delivery.Answer, stop StopReason) {
	if httptry.IsCut(r.Body) {
		a.Err = errAnswerCut
		return a, "" // its end is lost: the same events may be sent again
	}
	var word, quota string
	err := jsonb.Object(r.Body, func(key, value []byte) {
		switch string(key) {
		case "status":
			word = strings.ToLower(string(value))
		case "quota_limited":
			quota = string(value)
		}
	})
	var limited []string
	if quota != "" && err == nil {
		err = json.Unmarshal([]byte(quota), &limited)
	}
	switch {
	case err != nil:
		return a, StopNotService
	case len(limited) > 0:
		return a, StopQuota
	case word == `"ok"`, word == "1":
		a.Verdict = delivery.Settled
		return a, ""
	}
	return a, StopNotService
}
