package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestWithoutKeys(t *testing.T) {
	out := demotest.Run(t, run)
	for _, want := range []string{
		"1. Create", "2. Backfill", "100 %, 7 runs completed, 0 failed", "3. List", "4. Pause", "paused: true",
		"5. Import 11576", "checked: 11576 good, 0 would be refused", "read 11576 of 11576, acknowledged 11576, rejected 0", "Acknowledged and held are equal: 11576 of 11576",
	} {
		assert.Contains(t, out, want)
	}
	assert.Regexp(t, `(?m)^runs of the backfill +7 +7$`, out)
	assert.Regexp(t, `(?m)^commit authored in 2012 +138 +138$`, out)
	assert.Regexp(t, `(?m)^all events +11576 +11576$`, out)
}

func TestNothingIsDoneInTheRealServiceWithoutYes(t *testing.T) {
	server := hogapitest.New()
	out, err := demotest.RunAt(t, server, nil, run)
	require.NoError(t, err)
	assert.Contains(t, out, "import 11576 past events")
	assert.Contains(t, out, "Nothing has been done. Say -yes")
	assert.Empty(t, server.Calls(), "not even a read")
}

func TestAnImportThatTheServiceRefusesIsAnError(t *testing.T) {
	server := hogapitest.New(hogapitest.WithPolls(1))
	server.Script(hogapi.OpCapture, hogapitest.Always(hogapitest.Status(401)))
	var out strings.Builder
	q := &quickstart{out: &out}
	q.Site = site(t, server)
	err := q.importEvents(t.Context())
	require.ErrorIs(t, err, hogapi.ErrUnauthorized)
	assert.Contains(t, out.String(), `import "hogapi-quickstart": read`, "the receipt comes with an error too")
}

func TestADifferenceBetweenBothSidesIsAnError(t *testing.T) {
	q := &quickstart{out: t.Output(), state: &hogapi.BackfillState{}}
	q.Site = site(t, hogapitest.New())
	q.receipt.Days = []hogapi.DayCount{{Day: "2024-05-01", Event: "commit authored", Acknowledged: 1}}
	require.ErrorContains(t, q.report(), "holds other events")
}

func site(t *testing.T, server *hogapitest.Server) *demo.Site {
	t.Helper()
	return &demo.Site{Client: server.Client(t), Fake: server}
}
