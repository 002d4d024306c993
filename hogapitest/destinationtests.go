package hogapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// testStep is one step of a destination's test. Skip says when it is not needed, and needs is the key without which it fails.
type testStep struct {
	name, description string
	skip              func(*Integration) bool
	needs             string
}

var (
	bucketStep = testStep{name: "Check S3 bucket exists", description: "Ensure the configured S3 bucket exists and that we have the required permissions to access it."}
	testSteps  = map[string][]testStep{
		"AwsS3": {
			{name: "Ensure we can assume provided AWS role", description: "Ensure the configured AWS role ARN exists.", skip: (*Integration).withKeys}, bucketStep,
		},
		"S3Compatible": {bucketStep},
		"BigQuery": {
			{name: "Impersonate BigQuery service account", description: "Confirm we can impersonate a BigQuery service account.", skip: (*Integration).withFile},
			{name: "Verify BigQuery service account ownership", description: "Confirm that the current PostHog organization owns a BigQuery service account.", skip: (*Integration).withFile},
			{name: "Verify BigQuery project", description: "Ensure the configured BigQuery project exists."},
			{name: "Verify BigQuery dataset", description: "Ensure the configured BigQuery dataset exists."},
			{name: "Verify BigQuery table", description: "Ensure the configured BigQuery table already exists or that we have the required permissions to create it.", needs: "table_id"},
		},
		"Snowflake": {
			{name: "Establish connection to Snowflake", description: "Attempt to establish a Snowflake connection."},
			{name: "Verify Snowflake warehouse", description: "Verify the configured Snowflake warehouse exists."},
			{name: "Verify Snowflake database", description: "Verify the configured Snowflake database exists."},
			{name: "Verify Snowflake schema", description: "Verify the configured Snowflake schema exists."},
		},
		"Databricks": {
			{name: "Establish connection to Databricks", description: "Attempt to establish a Databricks connection."},
			{name: "Verify Databricks catalog", description: "Verify the configured Databricks catalog exists."},
			{name: "Verify Databricks schema", description: "Verify the configured Databricks schema exists."},
			{name: "Verify Databricks table", description: "Ensure the configured Databricks table already exists or that we have the required permissions to create it."},
			{name: "Verify permissions to create a Databricks volume", description: "Ensure we have the required permissions to create a Databricks volume."},
		},
		"AzureBlob": {{name: "Check Azure Blob container exists", description: "Ensure the configured container exists."}},
	}
)

func (t testStep) json(result any) object {
	return object{"name": t.name, "description": t.description, "result": result}
}

// FailTestStep makes a step of the tests of destinations, such as "Check S3 bucket exists", fail with a message. With an
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
	steps := testSteps[kind]
	if steps == nil {
		return answer{status: http.StatusNotFound, header: http.Header{"Allow": {"GET, HEAD, OPTIONS"}}}
	}
	return success(object{"steps": shown(steps, func(t testStep) object { return t.json(nil) })})
}

// runTestStep checks the body as that of a new export, then runs one step.
func (s *Server) runTestStep(r *request) answer {
	e := s.newExport(r)
	return s.runStep(r, e.destination)
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
	return s.runStep(r, e.destination)
}

// runStep runs one step. A step that fails is a 200.
func (s *Server) runStep(r *request, d destination) answer {
	n := 0
	if raw, ok := readFields(r.body).fields["step"]; ok && json.Unmarshal(raw, &n) != nil {
		return serverError()
	}
	steps := testSteps[d.kind]
	if n < 0 {
		n += len(steps)
	}
	if n < 0 || n >= len(steps) {
		return serverError()
	}
	step, with := steps[n], r.project.integration(d.integration)
	result := object{"status": "Passed", "message": nil}
	switch message := r.project.failing[step.name]; {
	case with == nil, step.needs != "" && d.config[step.needs] == nil:
		result = object{"status": "Failed", "message": "The test step cannot run as it's not configured."}
	case step.skip != nil && step.skip(with):
		result = object{"status": "Skipped", "message": "Not needed with these credentials."}
	case message != "":
		result = object{"status": "Failed", "message": message}
	}
	return success(step.json(result))
}
