//go:build unix

package proof_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The import is killed again and again while a server gives mixed answers.
func TestKilledDuringMixedAnswers(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kills := sized(20, 60, 200)
	bench := &killBench{server: hogapitest.New()}
	bench.open(t, goodLines(n), n)
	bench.Delivery = hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 4000, MaxBatchEvents: 250, Lanes: 16}} // each batch waits a second for its rest
	mixed := &mixedAnswers{visited: map[uuid.UUID]bool{}}
	bench.server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(mixed.of)))
	random := randomMoments(t)
	for k := range kills {
		bench.killAt(t, random, int(float64(n)*(float64(k)+random.Float64())/float64(kills+1)))
	}
	report := runChild(t, bench.task)
	require.Empty(t, report.Error)
	requireMixed(t, bench.server, report.Receipt, bench.task.rejects(), n)
	for _, b := range bench.server.Breaches() {
		require.NotEqual(t, hogapitest.DutyProtocol, b.Duty, strings.TrimSpace(b.String()))
	}
}
