package hogbeam_test

import (
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/hogapitest"
)

// All exports and runs of two projects come through a job as the core's iterators give them.
func TestExportsAndRunsOfManyProjects(t *testing.T) {
	server := newServer(t, hogapitest.WithProject("222"))
	projects := []string{hogapitest.DefaultProject, "222"}
	for i, id := range projects {
		for range 3 {
			export := server.Project(id).AddExport(hogapitest.Export{Name: "export of " + id, Interval: hogapi.IntervalHour, DestinationType: "S3"})
			for hour := range 5 + i {
				start := time.Date(2024, 5, 1, hour, 0, 0, 0, time.UTC)
				server.Project(id).AddRun(export, hogapitest.Run{Status: hogapi.RunStatusCompleted, Start: start, End: start.Add(time.Hour), Created: start.Add(time.Hour)})
			}
		}
	}
	t.Setenv(key, hogapitest.DefaultPersonalKey)
	service := hogbeam.Service{BaseURL: server.URL(), PersonalKey: hogbeam.SecretRef{Env: key}}
	p, s := beam.NewPipelineWithRoot()
	exports := hogbeam.ListExports(s, service, append(projects, "222")...) // the last one twice
	runs := hogbeam.ListRuns(s, service, hogapi.RunListOptions{}, exports)
	out := keep(s, exports, runs)
	_, err := beam.Run(t.Context(), "prism", p)
	require.NoError(t, err)

	var wantExports []hogbeam.ProjectExport
	var wantRuns []hogbeam.ProjectRun
	for _, id := range projects {
		client := server.Client(t).ForProject(id)
		for export, err := range client.BatchExports.All(t.Context(), nil) {
			require.NoError(t, err)
			wantExports = append(wantExports, hogbeam.ProjectExport{Project: id, Export: export})
			for run, err := range client.Runs.All(t.Context(), export.ID, nil) {
				require.NoError(t, err)
				wantRuns = append(wantRuns, hogbeam.ProjectRun{Project: id, ExportID: export.ID, ExportName: export.Name, Run: run})
			}
		}
	}
	require.Len(t, wantRuns, 3*5+3*6)
	assert.ElementsMatch(t, wantExports, out.Exports)
	assert.ElementsMatch(t, wantRuns, out.Runs)
}

func TestAKeyInPlaceOfItsNameIsRefused(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	service := hogbeam.Service{Region: hogapi.RegionEU, PersonalKey: hogbeam.SecretRef{Env: hogapitest.DefaultPersonalKey}}
	assert.Panics(t, func() { hogbeam.ListExports(s, service, "1") })
}

func TestAProjectThatCannotBeListedIsNamed(t *testing.T) {
	server := newServer(t)
	t.Setenv(key, hogapitest.DefaultPersonalKey)
	service := hogbeam.Service{BaseURL: server.URL(), PersonalKey: hogbeam.SecretRef{Env: key}}
	require.NoError(t, hogbeam.ListOne(t.Context(), service, hogapitest.DefaultProject))
	require.ErrorContains(t, hogbeam.ListOne(t.Context(), service, "404"), "project 404")
}
