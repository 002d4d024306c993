package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A sentinel says of which kind an error is; the typed error has the fields.
func ExampleAPIError() {
	client, _ := exampleClient(hogapitest.WithPersonalKey("phx_dashboardsOnly", "dashboard:read"))
	_, err := client.BatchExports.List(context.Background(), nil)

	fmt.Println("forbidden:", errors.Is(err, hogapi.ErrForbidden))
	if api, ok := errors.AsType[*hogapi.APIError](err); ok {
		fmt.Println(api.Op, api.StatusCode, api.Code)
	}
	fmt.Println(err)
	// Output:
	// forbidden: true
	// batch_exports.list 403 permission_denied
	// hogapi: batch_exports.list: 403 permission_denied: API key missing required scope 'batch_export:read'; the personal API key needs the scope batch_export:read and access to this project
}

// A create whose answer was lost is not sent again: it may have taken effect. Look before you try again.
func ExampleOutcomeUnknownError() {
	server := hogapitest.New()
	server.Script(ops.BatchExportsCreate, hogapitest.CutAfter()) // the service acts, and its answer is lost
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	_, err = client.BatchExports.Create(ctx, hogapi.BatchExportRequest{
		Name: "nightly", Model: hogapi.ModelEvents, Interval: hogapi.IntervalDay,
		Destination: hogapi.Destination{Type: destination.TypeNoOp, Config: destination.NoOp{}},
	})
	if errors.Is(err, hogapi.ErrOutcomeUnknown) {
		for export, err := range client.BatchExports.All(ctx, nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("it was made:", export.Name)
		}
	}
	// Output: it was made: nightly
}

// A walk that breaks off says where to go on, so nothing is read twice or left out.
func ExamplePageError() {
	server := hogapitest.New()
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: name}) // the newest is listed first
	}
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	walk := func(o *hogapi.ListOptions) error {
		for page, err := range client.BatchExports.Pages(context.Background(), o) {
			if err != nil {
				return err
			}
			for _, export := range page.Results {
				fmt.Println(export.Name)
			}
			if o.Offset == 0 {
				server.Script(ops.BatchExportsList, hogapitest.Status(403)) // the second page fails
			}
		}
		return nil
	}
	o := &hogapi.ListOptions{Limit: 2}
	err = walk(o)
	if broken, ok := errors.AsType[*hogapi.PageError](err); ok {
		fmt.Println("broken off before item", broken.Offset)
		o.Offset = broken.Offset
		err = walk(o)
	}
	fmt.Println("error:", err)
	// Output:
	// a
	// b
	// broken off before item 2
	// c
	// d
	// e
	// error: <nil>
}
