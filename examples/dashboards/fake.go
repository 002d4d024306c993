package main

import (
	"time"

	"github.com/hogapi/hogapi/hogapitest"
)

func seed(project *hogapitest.Project) {
	for i, d := range []hogapitest.Dashboard{
		{Name: "Company numbers", Pinned: true, Shared: true, Tags: []string{"board", "weekly"}},
		{Name: "Checkout funnel", Tags: []string{"product"}},
		{Name: "Errors and latency", Description: "What on-call looks at first", Tags: []string{"on-call"}},
		{Name: "Sign-ups"},
	} {
		d.Created = time.Now().AddDate(0, -i-1, 0)
		project.AddDashboard(d)
	}
}
