package cli_test

import (
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
)

// A vendor's export that failed for a day leaves an empty file.
func TestEmptyFilesAreNamed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "2023-05-01.jsonl", 5, nil)
	p.Write(t, "2023-05-02.jsonl", "")
	var packed strings.Builder
	require.NoError(t, gzip.NewWriter(&packed).Close())
	p.Write(t, "2023-05-03.jsonl.gz", packed.String())
	said := p.Ends(t, 0, "check", "2023-05-01.jsonl", "2023-05-02.jsonl", "2023-05-03.jsonl.gz", "--format", "jsonl").Stdout
	clitest.Says(t, said, "2 files are empty", "2023-05-02.jsonl", "2023-05-03.jsonl.gz", "Is the export complete?")
}

// Different events with one id of the vendor: check names the flag with which each has a uuid of its own, and verify counts them as
// check does.
func TestDifferentEventsWithOneID(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Lines(t, "orders.json", 4, func(i int) string {
		person := "u1"
		if i == 3 {
			person = "u2"
		}
		return fmt.Sprintf(`{"event":"order","properties":{"time":%d,"distinct_id":%q,"$insert_id":"order-123"}}`, 1709251200+min(i, 2)*3600, person)
	})
	flags := []string{"orders.json", "--format", "mixpanel", "--zone", "UTC"}
	clitest.Says(t, p.Ends(t, 0, append([]string{"check"}, flags...)...).Stdout, "3 events have the uuid of a different event", "--whole-key makes the uuid of all four")
	p.Ends(t, 0, append([]string{"run", "--yes", "--state", "one"}, flags...)...)
	require.Equal(t, 4, server.Ledger().Len())
	assert.Equal(t, 1, server.Ledger().Unique())
	said := p.Ends(t, 0, "verify", "--state", "one", "--every-uuid").Stdout
	clitest.Says(t, said, "Complete: 4 different events", "another name, person or time: PostHog keeps both")

	p.Ends(t, 0, append([]string{"run", "--yes", "--state", "whole", "--whole-key"}, flags...)...)
	assert.Equal(t, 5, server.Ledger().Unique(), "four more uuids")
	assert.NotContains(t, p.Ends(t, 0, append([]string{"check", "--whole-key"}, flags...)...).Stdout, "the uuid of a different event")
	p.Ends(t, 2, "check", "orders.json", "--format", "mixpanel", "--fingerprints").Err(t, "--fingerprints is for snowplow, not for mixpanel")
}
