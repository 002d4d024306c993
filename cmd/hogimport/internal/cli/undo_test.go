package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestUndo(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	project := server.Project(hogapitest.DefaultProject)
	p, folder, _ := imported(t, server)

	preview := p.Ends(t, 7, "undo")
	preview.Narrow(t)
	says(t, preview.Stdout, "import "+idOf(t, folder), "events there now 299", "2024-01-01 299")
	says(t, preview.Stderr, "nothing was requested: this was the preview add --yes")
	assert.Empty(t, project.DataDeletions())

	for range 2 { // the same request is one deletion
		p.Ends(t, 0, "undo", "--yes").Out(t, "PostHog has the request and must approve it.")
	}
	require.Len(t, project.DataDeletions(), 1)
	id := project.DataDeletions()[0].ID
	project.SetDataDeletion(id, "approved")
	says(t, p.Run(t, "undo", "--yes").Stdout, "PostHog has approved it")
	project.SetDataDeletion(id, "completed")
	p.Ends(t, 0, "undo").Out(t, "The events of the import are deleted.")

	asJSON := p.Run(t, "undo", "--json")
	var result struct {
		ImportID string `json:"import_id"`
		Request  struct{ Status string }
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &result))
	assert.Equal(t, "completed", result.Request.Status)
}

func TestUndoOfWhatCameLater(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	project := server.Project(hogapitest.DefaultProject)
	p, folder, _ := imported(t, server)
	p.Ends(t, 0, "undo", "--yes")
	project.SetDataDeletion(project.DataDeletions()[0].ID, "approved")
	project.SetDataDeletion(project.DataDeletions()[0].ID, "completed")
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none", "--state", "again", "--import-id", idOf(t, folder))
	p.Ends(t, 7, "undo", "--yes", "--import-id", idOf(t, folder)).Err(t, "299 events are there although the deletion has completed")
	p.Ends(t, 0, "undo", "--yes", "--import-id", idOf(t, folder), "--submission-id", uuid.NewString())
	require.Len(t, project.DataDeletions(), 2)
}

func TestUndoThatIsNotPossible(t *testing.T) {
	t.Parallel()
	server := hogapitest.New() // where deletions are not enabled
	p, _, _ := imported(t, server)
	r := p.Ends(t, 5, "undo", "--yes")
	says(t, r.Stderr, "ask PostHog's support to delete the events, with the project and the import's id: hogimport-events-")
	r.Narrow(t)

	old := hogapitest.New(hogapitest.WithEra(hogapitest.E2))
	p, _, _ = imported(t, old)
	assert.Equal(t, 7, p.Run(t, "undo", "--yes").Code)

	empty := hogapitest.New(hogapitest.WithDataDeletions())
	p, _, _ = imported(t, empty)
	p.Ends(t, 7, "undo", "--yes", "--import-id", "never-was").Err(t, "the project has no events of the import never-was")
	assert.Equal(t, 2, p.Run(t, "undo", "--submission-id", "1").Code)
	assert.Empty(t, empty.Calls(ops.DataDeletionsCreate))
}
