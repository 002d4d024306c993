package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
)

// The contract holds with the fake in each of its ages, and only -write changes anything.
func TestSmoke(t *testing.T) {
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
		server := hogapitest.New(hogapitest.WithEra(era))
		project := server.Project(hogapitest.DefaultProject)
		project.RunSchedule(project.AddExport(hogapitest.Export{Name: "mine", DestinationType: "BigQuery", Config: map[string]any{}}), nil)
		for _, args := range [][]string{nil, {"-write"}} {
			out := demotest.Run(t, server, run, args...)
			assert.NotContains(t, out, "FAILED")
			assert.Contains(t, out, "--- report ---")
			for _, secret := range []string{hogapitest.DefaultPersonalKey, hogapitest.DefaultProjectKey, server.URL(), "mine"} {
				assert.NotContains(t, out, secret)
			}
			assert.Equal(t, 100*len(args), server.Ledger().Unique())
			assert.Equal(t, strings.Contains(out, "has left 100 events"), len(args) > 0)
			assert.Len(t, server.Calls("batch_exports.create"), len(server.Calls("batch_exports.delete"))+refused(server))
		}
		t.Setenv("POSTHOG_PERSONAL_API_KEY", "phx_wrong")
		var out strings.Builder
		require.Error(t, run(t.Context(), &out, nil))
		assert.Contains(t, out.String(), "FAILED")
	}
}

// refused counts the creates that the server has refused.
func refused(server *hogapitest.Server) (n int) {
	for _, call := range server.Calls("batch_exports.create") {
		if call.Status >= 400 {
			n++
		}
	}
	return n
}
