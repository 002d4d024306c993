package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes a client with the keys of the environment. Without keys it makes one for a fake of
// the service. In a copy of this program, hogapi.NewClient(hogapi.FromEnv()) is all that is needed.
func connect(out io.Writer) (*hogapi.Client, *hogapitest.Server, error) {
	if cmp.Or(os.Getenv("POSTHOG_PERSONAL_API_KEY"), os.Getenv("POSTHOG_PROJECT_API_KEY")) != "" {
		client, err := hogapi.NewClient(hogapi.FromEnv())
		if err == nil {
			fmt.Fprintf(out, "Keys found: working with the real service, %v.\n\n", client)
		}
		return client, nil, err
	}
	fmt.Fprint(out, "No keys in the environment: working with a fake of the service.\n\n")
	fake := hogapitest.New(hogapitest.WithPolls(2))
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, fake, err
}
