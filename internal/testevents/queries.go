package testevents

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// twoHundred is a server with an import of 200 events over 20 days, its client and its receipt.
func twoHundred(t *testing.T, now time.Time, options ...hogapitest.Option) (*hogapitest.Server, *hogapi.Client, hogapi.Receipt) {
	t.Helper()
	server := hogapitest.New(append([]hogapitest.Option{hogapitest.WithTime(now)}, options...)...)
	client := server.Client(t)
	source := history.Func("days", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := range 200 {
				at := now.AddDate(0, 0, -40+i/10)
				if !yield(hogapi.Event{Name: "e", DistinctID: fmt.Sprint("d", i), Timestamp: at, Position: hogapi.Position{Key: "days", Offset: int64(i + 1)}}, nil) {
					return
				}
			}
		}
	})
	receipt, err := history.Import(t.Context(), client, source, &history.Options{ID: "hogapi-200", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)
	require.EqualValues(t, 200, receipt.Acknowledged)
	return server, client, receipt
}

// Ask asks a question about the events of an import with queries. It returns the result in words.
type Ask func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error)

// RequireSameAnswers requires that for any answer of the service, a question has the same result as without the fault,
// or an immediate error that says why.
func RequireSameAnswers(t *testing.T, now time.Time, ask Ask) {
	t.Helper()
	said := func(status int, code, detail string) hogapitest.Fault {
		body, err := json.Marshal(map[string]any{"type": "server_error", "code": code, "detail": detail, "attr": nil})
		require.NoError(t, err)
		return hogapitest.Status(status, json.RawMessage(body))
	}
	cached := hogapitest.Altered(func(own []byte) []byte {
		return []byte(strings.Replace(string(own), `"is_cached":false`, `"is_cached":true`, 1))
	})
	for name, tt := range map[string]struct {
		options []hogapitest.Option
		faults  []hogapitest.Fault
		fails   string
		most    int // queries, 0: any number
	}{
		"504":                           {faults: []hogapitest.Fault{hogapitest.Status(504)}},
		"512":                           {faults: []hogapitest.Fault{hogapitest.Status(512)}},
		"513":                           {options: []hogapitest.Option{hogapitest.WithQueryMemory(79)}},
		"too many bytes":                {options: []hogapitest.Option{hogapitest.WithQueryBytes(79 * 1_080)}},
		"heavy load":                    {faults: []hogapitest.Fault{hogapitest.Repeat(3, said(513, "clickhouse_memory_limit_exceeded", "We're under heavy load right now. Please try again in a few minutes."))}},
		"a server without names or MD5": {options: []hogapitest.Option{hogapitest.WithOldService()}},
		"the answer of an equal query":  {faults: []hogapitest.Fault{cached, cached}},
		"500 with a text":               {faults: []hogapitest.Fault{said(500, "error", "ClickHouse error while executing query.")}},
		"503":                           {faults: []hogapitest.Fault{hogapitest.Repeat(9, hogapitest.Status(503))}},
		"429":                           {faults: []hogapitest.Fault{hogapitest.Repeat(3, hogapitest.RateLimit("100"))}},
		"the budget is spent":           {faults: []hogapitest.Fault{said(429, "api_queries_budget_exceeded", "API queries budget exceeded.").WithHeader("Retry-After", "3000")}},
		"the quota of a month is spent": {faults: []hogapitest.Fault{hogapitest.Always(said(402, "api_queries_quota_exceeded", "Quota exceeded."))}, fails: "Quota exceeded", most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, client, receipt := twoHundred(t, now)
				want, err := ask(t.Context(), client, receipt)
				require.NoError(t, err)

				server, client, receipt := twoHundred(t, now, tt.options...)
				server.Script(ops.Query, tt.faults...)
				got, err := ask(t.Context(), client, receipt)
				if tt.fails != "" {
					require.ErrorContains(t, err, tt.fails)
					require.Len(t, server.Calls(ops.Query), tt.most)
					return
				}
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		})
	}
}
