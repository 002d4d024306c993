package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes a client with the keys of the environment, or a client of a fake of the service with
// some dashboards if there are no keys. A copy of this program only needs
// hogapi.NewClient(hogapi.FromEnv()).
func connect(out io.Writer) (*hogapi.Client, error) {
	if cmp.Or(os.Getenv("POSTHOG_PERSONAL_API_KEY"), os.Getenv("POSTHOG_PROJECT_API_KEY")) != "" {
		client, err := hogapi.NewClient(hogapi.FromEnv())
		if err == nil {
			fmt.Fprintf(out, "Keys found: working with %v.\n\n", client)
		}
		return client, err
	}
	fmt.Fprint(out, "No keys in the environment: working with a fake of the service.\n\n")
	fake := hogapitest.New()
	project := fake.Project(hogapitest.DefaultProject)
	for i, d := range []hogapitest.Dashboard{
		{Name: "Company numbers", Pinned: true, Shared: true, Tags: []string{"board", "weekly"}},
		{Name: "Checkout funnel", Tags: []string{"product"}},
		{Name: "Errors and latency", Description: "What on-call looks at first", Tags: []string{"on-call"}},
		{Name: "Sign-ups"},
	} {
		d.Created = time.Now().AddDate(0, -i-1, 0)
		project.AddDashboard(d)
	}
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, err
}
