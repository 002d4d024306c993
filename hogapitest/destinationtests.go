package hogapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// testStep is one step of a destination's test. Skip says when it is not needed.
type testStep struct {
	name, description string
	skip              func(*Integration) bool
}

var (
	bucketStep = testStep{name: "Bucket exists", description: "Check that the bucket exists and can be reached."}
	testSteps  = map[string][]testStep{
		"S3": {bucketStep},
		"AwsS3": {
			{name: "Assume role", description: "Assume the role of the integration.", skip: (*Integration).withKeys}, bucketStep,
		},
		"S3Compatible": {bucketStep},
		"BigQuery": {
			{name: "Impersonate account", description: "Impersonate the service account.", skip: (*Integration).withFile},
			{name: "Verify ownership", description: "Verify that the service account is the organization's.", skip: (*Integration).withFile},
			{name: "Project exists", description: "Check that the project exists."},
			{name: "Dataset exists", description: "Check that the dataset exists."},
			{name: "Table", description: "Create and drop a table for the test."},
		},
		"Snowflake": {
			{name: "Connect", description: "Connect to the account."}, {name: "Warehouse", description: "Check that the warehouse exists."},
			{name: "Database", description: "Check that the database exists."}, {name: "Schema", description: "Check that the schema exists."},
		},
		"Databricks": {
			{name: "Connect", description: "Connect to the server."}, {name: "Catalog", description: "Check that the catalog exists."},
			{name: "Schema", description: "Check that the schema exists."}, {name: "Table", description: "Create and drop a table for the test."},
			{name: "Volume", description: "Create and drop a volume for the test."},
		},
		"AzureBlob": {{name: "Container exists", description: "Check that the container exists."}},
	}
	testedInE2 = map[string]bool{"S3": true, "BigQuery": true, "Snowflake": true}
)

func (s *Server) stepsOf(kind string) []testStep {
	if (s.era == E2) != testedInE2[kind] && (s.era == E2 || kind == "S3") {
		return nil
	}
	return testSteps[kind]
}

func (t testStep) json(result any) object {
	return object{"name": t.name, "description": t.description, "result": result}
}

// FailTestStep makes a step of the tests of destinations, such as "Bucket exists", fail with a message. With an
// empty message, the step passes again. FailTestStep panics if no destination has a step of this name.
func (p *Project) FailTestStep(name, message string) {
	isKnown := func(steps []testStep) bool {
		return slices.ContainsFunc(steps, func(s testStep) bool { return s.name == name })
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(testSteps)), isKnown) {
		panic(fmt.Sprintf("hogapitest: FailTestStep: no destination has a test step %q", name))
	}
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if p.failing == nil {
		p.failing = map[string]string{}
	}
	p.failing[name] = message
}

// listTestSteps answers with empty bodies where it has nothing to list.
func (s *Server) listTestSteps(r *request) answer {
	kind := r.query.Get("destination")
	if kind == "" {
		return answer{status: http.StatusBadRequest}
	}
	steps := s.stepsOf(kind)
	if steps == nil {
		return answer{status: http.StatusNotFound, header: http.Header{"Allow": {"GET, HEAD, OPTIONS"}}}
	}
	return success(object{"steps": shown(steps, func(t testStep) object { return t.json(nil) })})
}

// runTestStep checks the body as that of a new export, then runs one step.
func (s *Server) runTestStep(r *request) answer {
	e := s.newExport(r)
	return s.runStep(r, e.kind, e.integration)
}

// runTestStepOf checks the stored config with the sent one over it as that of a new export, and takes the credentials of the integration
// that is sent.
func (s *Server) runTestStepOf(r *request) answer {
	stored, c := r.export(), readFields(r.body)
	raw, sent := c.fields["destination"]
	if !sent || lacksTypeOrConfig(raw) {
		return serverError() // the service looks both up before it checks them
	}
	e := r.project.newExport(r.now)
	e.destination = stored.destination
	s.fill(c, e)
	if of := (checker{prefix: "destination__"}); json.Unmarshal(raw, &of.fields) != nil || absent(of.fields["integration"]) && absent(of.fields["integration_id"]) {
		e.integration = 0
	}
	return s.runStep(r, e.kind, e.integration)
}

// runStep runs one step. A step that fails is a 200.
func (s *Server) runStep(r *request, kind string, id int) answer {
	n := 0
	if raw, ok := readFields(r.body).fields["step"]; ok && json.Unmarshal(raw, &n) != nil {
		return serverError()
	}
	steps := s.stepsOf(kind)
	if n < 0 {
		n += len(steps)
	}
	if n < 0 || n >= len(steps) {
		return serverError()
	}
	step, with := steps[n], r.project.integration(id)
	result := object{"status": "Passed", "message": nil}
	switch message := r.project.failing[step.name]; {
	case with == nil && s.era >= E4:
		result = object{"status": "Failed", "message": "The test step cannot run as it's not configured."}
	case step.skip != nil && step.skip(with):
		result = object{"status": "Skipped", "message": "Not needed with these credentials."}
	case message != "":
		result = object{"status": "Failed", "message": message}
	}
	return success(step.json(result))
}
