package hogapi

import (
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testDestination tests a destination on a server that answers as told: the list of steps, and each step in turn.
func testDestination(t *testing.T, status int, list string, steps ...string) (*DestinationTest, error) {
	t.Helper()
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", `=~/batch_exports/test/`, httpmock.NewStringResponder(status, list))
	mock.RegisterResponder("POST", testBase+"/batch_exports/run_test_step_new/", func(*http.Request) (*http.Response, error) {
		if len(steps) == 0 {
			return httpmock.NewStringResponse(400, `{"type":"validation_error","code":"invalid_input","detail":"x"}`), nil
		}
		step := steps[0]
		steps = steps[1:]
		return httpmock.NewStringResponse(200, step), nil
	})
	return client.BatchExports.TestDestination(t.Context(), testCreate)
}

// A test passes by the results of its own steps, in this call.
func TestDestinationTestTakesItsOwnResultsOnly(t *testing.T) {
	const two = `{"steps":[{"name":"A","description":"d"},{"name":"B","description":"d"}]}`
	var undecoded *DecodeError

	test, err := testDestination(t, 200, two, `{"name":"A","result":{"status":"Passed"}}`, `{"name":"Z","result":{"status":"Passed"}}`)
	require.ErrorAs(t, err, &undecoded, "the result of another step")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	assert.Equal(t, DestinationTestStatusPassed, test.Steps[0].Result.Status)
	assert.Nil(t, test.Steps[1].Result)
	assert.False(t, test.Passed())

	test, err = testDestination(t, 200, `{"steps":[{"name":"A","result":{"status":"Passed"}},{"name":"B","result":{"status":"Failed"}}]}`)
	require.ErrorIs(t, err, ErrInvalid)
	for _, step := range test.Steps {
		assert.Nil(t, step.Result, "listed, not run")
	}
	assert.False(t, test.Passed())
	assert.Nil(t, test.Failed())

	for _, list := range []string{`{}`, `null`, `{"steps":null}`, `{"steps":[]}`, `{"detail":"hello"}`, `[]`, `{"steps":[{}]}`} {
		_, err = testDestination(t, 200, list)
		require.ErrorAs(t, err, &undecoded, list)
		require.NotErrorIs(t, err, ErrNoDestinationTest, list)
	}
	_, err = testDestination(t, 200, "")
	require.ErrorAs(t, err, &undecoded)
	_, err = testDestination(t, 404, "")
	require.NotErrorIs(t, err, ErrNoDestinationTest, "a proxy's answer: the service names the methods of the path")
	require.ErrorContains(t, err, "not the service's own answer")
}
