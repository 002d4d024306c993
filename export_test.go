package hogapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/ops"
)

// Access to the package's inside for external tests.

// An Endpoint is a row of the table of endpoints.
type Endpoint struct {
	Op                  Op
	Method, Path, Scope string
	Alternative         string
}

// Endpoints are all endpoints that this package calls.
func Endpoints() (all []Endpoint) {
	imports := []endpoints.Row{
		{Name: ops.Capture, Method: http.MethodPost, Path: engine.BatchPath}, {Name: ops.Protocol, Method: http.MethodPost, Path: engine.V1Path},
		{Name: ops.Preflight, Method: http.MethodPost, Path: engine.PreflightPath},
	}
	for _, o := range append(endpoints.All(), imports...) {
		all = append(all, Endpoint{o.Name, o.Method, o.Path, o.Scope, endpoints.Alternative(o.Name)})
	}
	return all
}

// CallEndpoint sends a request of an operation with the same id in all places.
func CallEndpoint(ctx context.Context, c *Client, op Op, id string) error {
	r := endpoint(op, slices.Repeat([]string{id}, strings.Count(endpoints.Of(op).Path, "{"))...)
	return c.call(ctx, r, nil)
}

// raceDetector tells that everything takes some ten times as long, and several times the memory.
var raceDetector bool

// TestCredential is in no text of any value.
const TestCredential = testCredential

// OfDoors are values of the packages history and coverage, and an import: these import this package, so an external test
// sets them for the tests of secrets.
var OfDoors struct {
	Roots, Plain []any
	Import       func(ctx context.Context, c *Client, events []Event, folder string, onProgress func(Stats), d DeliveryOptions) (r Receipt, query string, err error)
}
