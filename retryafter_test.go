package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A wait that the service asks for and that is longer than the limit stops at once, instead of after the limit.
func TestTooLongRetryAfterStopsAtOnce(t *testing.T) {
	for name, wait := range map[string]string{"a second over the limit": "901", "a day": "86400", "a century": "3155760000"} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.Always(hogapitest.RateLimit(wait)))
			begin := time.Now()
			onePerson := altered(numbered(10), func(ev *hogapi.Event) { ev.DistinctID = "ann" }) // and so one request at a time
			_, err := server.Client(t).Import(t.Context(), onePerson, &hogapi.ImportOptions{ID: "limited"})
			var stop *hogapi.StopError
			require.ErrorAs(t, err, &stop, name)
			assert.Equal(t, hogapi.StopNoProgress, stop.Reason)
			assert.Less(t, time.Since(begin), time.Second, name)
			assert.Len(t, server.Calls(ops.Capture), 1)
		})
	}
}
