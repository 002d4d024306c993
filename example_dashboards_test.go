package hogapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleDashboardsService_All() {
	client, project := exampleClient()
	project.AddDashboard(hogapitest.Dashboard{Name: "Growth", Pinned: true, Tags: []string{"board"}})
	project.AddDashboard(hogapitest.Dashboard{Name: "Scratch"})

	for dashboard, err := range client.Dashboards.All(context.Background(), &hogapi.DashboardListOptions{Tags: []string{"board"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(*dashboard.Name, dashboard.EffectivePrivilegeLevel == hogapi.PrivilegeCanEdit)
	}
	// Output: Growth true
}

// On older servers the id of a batch export gives the counts of its runs.
func ExampleAppMetricsService_Get() {
	client, project := exampleClient(hogapitest.WithEra(hogapitest.E2))
	export := project.AddExport(hogapitest.Export{})
	project.AddRun(export, hogapitest.Run{})
	project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed})

	metrics, err := client.AppMetrics.Get(context.Background(), export.String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.Metrics.Totals.Successes, "runs went well,", metrics.Metrics.Totals.Failures, "failed")
	// Output: 1 runs went well, 1 failed
}
