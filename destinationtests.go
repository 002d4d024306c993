package hogapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// DestinationTest holds the results of the tests of a destination, step by step.
type DestinationTest struct {
	Steps []DestinationTestStep `json:"steps"`
}

// DestinationTestStep is one test of a destination, such as whether the bucket exists.
type DestinationTestStep struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Result      *DestinationTestResult `json:"result"` // nil: not run, since a step before it failed
}

// DestinationTestResult is the result of a step.
type DestinationTestResult struct {
	Status  DestinationTestStatus `json:"status"`
	Message *string               `json:"message"`
}

func (s *DestinationTestStep) complete() error { return hasText(s.Name, "name") }

func (t *DestinationTest) complete() error {
	if len(t.Steps) == 0 {
		return errors.New("it has no steps")
	}
	return allComplete(t.Steps)
}

// ranStep is the answer of a step that was run.
type ranStep struct{ DestinationTestStep }

func (s *ranStep) complete() error {
	if s.Result == nil {
		return errors.New("it has no result")
	}
	return hasText(string(s.Result.Status), "status")
}

// DestinationTestStatus is the end of a step of a destination's test. The service may send values that this
// package does not know.
type DestinationTestStatus string

// The known statuses.
const (
	DestinationTestStatusPassed  DestinationTestStatus = "Passed"
	DestinationTestStatusFailed  DestinationTestStatus = "Failed"
	DestinationTestStatusSkipped DestinationTestStatus = "Skipped" // not needed with these credentials
)

// Passed reports whether there are steps and all of them passed or were skipped.
func (t *DestinationTest) Passed() bool {
	for _, step := range t.Steps {
		if step.Result == nil || step.Result.Status != DestinationTestStatusPassed && step.Result.Status != DestinationTestStatusSkipped {
			return false
		}
	}
	return len(t.Steps) > 0
}

// Failed returns the step that failed, or nil.
func (t *DestinationTest) Failed() *DestinationTestStep {
	for i, step := range t.Steps {
		if step.Result != nil && step.Result.Status == DestinationTestStatusFailed {
			return &t.Steps[i]
		}
	}
	return nil
}

// testTry is the least time limit of a step: the vendors' own connections can take tens of seconds.
const testTry = 2 * time.Minute

// TestDestination tests the destination of a new export before it is created. It runs the service's steps in
// their order and stops at the first that fails. A step that fails is a result, not an error: see
// [DestinationTest.Passed]. With an error, the steps before it have their results.
//
// A step may last at least two minutes, also with a shorter [WithTryTimeout], and is not repeated if its
// outcome is unknown: some steps create a table or a volume with a name that ends in _test, and remove it. The
// error is [ErrNoDestinationTest] if the service cannot test this type of destination, [ErrUnsupported] if the
// server tests no destinations, and [ErrInvalid] for an export that it would refuse to create.
//
// GET /batch_exports/test/, scope batch_export:read, then for each step POST
// /batch_exports/run_test_step_new/, scope batch_export:write.
func (s *BatchExportsService) TestDestination(
	ctx context.Context, export BatchExportRequest, options ...CallOption,
) (*DestinationTest, error) {
	body, refusal := export.wire(ops.BatchExportsRunTestStep)
	if refusal != nil {
		return nil, refused(ops.BatchExportsRunTestStep, refusal)
	}
	read := endpoint(ops.BatchExportsTest).with(url.Values{"destination": {string(export.Destination.Type)}})
	test, err := fetch[DestinationTest](ctx, s.client, read, append(slices.Clip(options), onlyHeader))
	if hasNoTest(err) {
		return nil, errtext.Errorf("%s: %v: %s", ops.BatchExportsTest, ErrNoDestinationTest, mask.UnlessKey(string(export.Destination.Type)))
	}
	if err != nil {
		return nil, err
	}
	for i := range test.Steps {
		test.Steps[i].Result = nil // until it is run here
	}
	for i := range test.Steps {
		body.Step = &i
		r := endpoint(ops.BatchExportsRunTestStep)
		r.body, r.leastTry = body, testTry
		isAsked := func(ran *ranStep) error { return isAskedFor("name", ran.Name, test.Steps[i].Name) }
		ran, err := fetchMatching(ctx, s.client, r, options, isAsked)
		if err != nil {
			return test, err
		}
		test.Steps[i].Result = ran.Result
		if ran.Result.Status == DestinationTestStatusFailed {
			break
		}
	}
	return test, nil
}

// hasNoTest reports whether the service has no test for a type of destination. Its answer is then a 404 with an
// empty body.
func hasNoTest(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode == http.StatusNotFound && len(api.body) == 0 && !api.isForeign
}
