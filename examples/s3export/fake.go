package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes a client with the keys of the environment, or a client of a fake of the service if
// there are no keys. A copy of this program only needs hogapi.NewClient(hogapi.FromEnv()).
func connect(out io.Writer) (*hogapi.Client, *hogapitest.Server, error) {
	if cmp.Or(os.Getenv("POSTHOG_PERSONAL_API_KEY"), os.Getenv("POSTHOG_PROJECT_API_KEY")) != "" {
		client, err := hogapi.NewClient(hogapi.FromEnv())
		if err == nil {
			fmt.Fprintf(out, "Keys found: working with %v.\n\n", client)
		}
		return client, nil, err
	}
	fmt.Fprint(out, "No keys in the environment: working with a fake of the service.\n\n")
	fake := hogapitest.New(hogapitest.WithPolls(2))
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, fake, err
}
