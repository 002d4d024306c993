package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes the clients with the keys of the environment. Without keys they are fakes of the service, the first
// one with some events of these days.
func (m *move) connect(needsFirst bool) (isFake bool, err error) {
	if os.Getenv("POSTHOG_FROM_PERSONAL_API_KEY") == "" && os.Getenv("POSTHOG_TO_PERSONAL_API_KEY") == "" {
		fmt.Fprint(m.out, "No keys in the environment: working with two fakes of the service.\n\n")
		first, second := hogapitest.New(hogapitest.WithPolls(2), hogapitest.WithParquet(demo.Parquet)), hogapitest.New()
		m.watch, m.rate = demo.Watch(first), hogapi.RateUnlimited
		m.fill(first)
		m.from, err = hogapi.NewClient(first.ClientOptions(hogapitest.DefaultProject)...)
		if err == nil {
			m.to, err = hogapi.NewClient(second.ClientOptions(hogapitest.DefaultProject)...)
		}
		return true, err
	}
	if needsFirst {
		if m.from, err = fromEnv("POSTHOG_FROM_"); err != nil {
			return false, err
		}
	}
	if m.to, err = fromEnv("POSTHOG_TO_"); err != nil {
		return false, err
	}
	if os.Getenv("POSTHOG_TO_PROJECT_API_KEY") == "" {
		return false, errors.New("set POSTHOG_TO_PROJECT_API_KEY (phc_…): an import sends its events with it")
	}
	if needsFirst && m.from.String() == m.to.String() {
		return false, fmt.Errorf("both projects are %v: set POSTHOG_TO_… to those of another project", m.from)
	}
	return false, nil
}

// fromEnv returns a client for the project that variables with a prefix name.
func fromEnv(prefix string) (*hogapi.Client, error) {
	options := []hogapi.Option{
		hogapi.WithProject(os.Getenv(prefix + "PROJECT_ID")),
		hogapi.WithPersonalAPIKey(os.Getenv(prefix + "PERSONAL_API_KEY")),
	}
	if key := os.Getenv(prefix + "PROJECT_API_KEY"); key != "" {
		options = append(options, hogapi.WithProjectAPIKey(key))
	}
	if host := os.Getenv(prefix + "HOST"); host != "" {
		options = append(options, hogapi.WithBaseURL(host))
	} else {
		options = append(options, hogapi.WithRegion(hogapi.Region(os.Getenv(prefix+"REGION"))))
	}
	client, err := hogapi.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("variables %s…: %w", prefix, err)
	}
	return client, nil
}

const filled = 3000

// event is the identity of one of the events that fill adds.
func event(i int) (id uuid.UUID, name, person string) {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)), []string{"$pageview", "order placed"}[i%2], fmt.Sprintf("person-%d", i%50)
}

// fill adds events to a fake, in no order. They came when they happened, by an earlier import.
func (m *move) fill(server *hogapitest.Server) {
	project := server.Project(hogapitest.DefaultProject)
	project.ExportEvents()
	for i := range filled {
		at := m.begin.Add(m.end.Sub(m.begin) / filled * time.Duration(i*7919%filled))
		id, name, person := event(i)
		project.AddEvent(hogapitest.StoredEvent{
			UUID: id, Event: name, DistinctID: person, Time: at, CreatedAt: at,
			Properties: fmt.Appendf(nil, `{"n":%d,"$set":{"newest":%d},"$import_job_id":"earlier"}`, i, i),
		})
	}
}
