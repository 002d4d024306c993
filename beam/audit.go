package hogbeam

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// ProjectExport is a batch export and the project that it belongs to.
type ProjectExport struct {
	Project string
	Export  hogapi.BatchExport
}

// ProjectRun is a run, the batch export and the project that it belongs to.
type ProjectRun struct {
	Project    string
	ExportID   uuid.UUID
	ExportName string
	Run        hogapi.Run
}

// ListExports lists the batch exports of projects into a collection of [ProjectExport], for audits of many of them. The personal key
// needs the scope batch_export:read in each. A project that is named twice is listed once; one that cannot be listed to its end ends the job.
//
// The service allows an organisation 480 calls a minute, from all machines together.
func ListExports(s beam.Scope, service Service, projects ...string) beam.PCollection {
	s = s.Scope("hogbeam.ListExports")
	service.mustManage()
	projects = slices.Compact(slices.Sorted(slices.Values(projects)))
	return beam.ParDo(s, &exportsFn{Service: service}, beam.Reshuffle(s, beam.CreateList(s, projects)))
}

// ListRuns lists the runs of batch exports, a collection of [ProjectExport], into a collection of [ProjectRun]. The options are those of
// the core's list of runs.
func ListRuns(s beam.Scope, service Service, o hogapi.RunListOptions, exports beam.PCollection) beam.PCollection {
	s = s.Scope("hogbeam.ListRuns")
	service.mustManage()
	return beam.ParDo(s, &runsFn{Service: service, Options: o}, beam.Reshuffle(s, exports))
}

// mustManage panics where no client for management calls can be made, as Beam's transforms do.
func (s Service) mustManage() {
	if err := s.PersonalKey.check("Service.PersonalKey"); err != nil {
		panic(err)
	}
	if _, err := s.managing(noKey); err != nil {
		panic(err)
	}
}

// project makes a client for one project, on the worker.
func (s Service) project(id string) (*hogapi.Client, error) {
	key, err := s.PersonalKey.read()
	if err != nil {
		return nil, err
	}
	client, err := s.managing(key)
	if err != nil {
		return nil, err
	}
	return client.ForProject(id), nil
}

type exportsFn struct{ Service Service }

// ProcessElement lists one project.
func (f *exportsFn) ProcessElement(ctx context.Context, project string, emit func(ProjectExport)) error {
	client, err := f.Service.project(project)
	if err != nil {
		return err
	}
	for export, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			return fmt.Errorf("hogbeam: project %s: %w", project, err)
		}
		emit(ProjectExport{Project: project, Export: export})
	}
	return nil
}

type runsFn struct {
	Service Service
	Options hogapi.RunListOptions
}

// ProcessElement lists the runs of one export.
func (f *runsFn) ProcessElement(ctx context.Context, e ProjectExport, emit func(ProjectRun)) error {
	client, err := f.Service.project(e.Project)
	if err != nil {
		return err
	}
	for run, err := range client.Runs.All(ctx, e.Export.ID, &f.Options) {
		if err != nil {
			return fmt.Errorf("hogbeam: project %s, export %s: %w", e.Project, e.Export.ID, err)
		}
		emit(ProjectRun{Project: e.Project, ExportID: e.Export.ID, ExportName: e.Export.Name, Run: run})
	}
	return nil
}
