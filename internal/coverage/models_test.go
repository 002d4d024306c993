package coverage

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/exports.md has the table of the models.
func TestTheTableOfModels(t *testing.T) {
	docs, err := os.ReadFile("../../docs/exports.md")
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("| Model | What covers an interval | Age line | Duplicate rows | Repair |\n|---|---|---|---|---|\n")
	for _, m := range []Model{events, persons, sessions, hogql, hogqlOfAll, acting} {
		table.WriteString("| " + strings.Join([]string{m.name, m.covers, m.line, m.twice, m.repair}, " | ") + " |\n")
	}
	assert.Contains(t, string(docs), "\n"+table.String()+"\n")
}

func TestModelOf(t *testing.T) {
	for want, got := range map[*Model]Model{
		&events: ModelOf("", "S3", ""), &sessions: ModelOf("sessions", "Postgres", ""), &persons: ModelOf("groups", "BigQuery", ""),
		&hogql: ModelOf("hogql", "S3", "SELECT {data_interval_start}"), &hogqlOfAll: ModelOf("hogql", "S3", "SELECT 1"),
	} {
		assert.Equal(t, *want, got)
	}
	for destination, choosing := range map[string]Choosing{"HTTP": ByAge, "Workflows": LikeTheSchedule} {
		m := ModelOf("events", destination, "")
		assert.Equal(t, acting.Acts, m.Acts, destination)
		assert.Equal(t, choosing, m.Choosing, destination)
	}
}
