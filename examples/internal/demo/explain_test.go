package demo_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
)

// read is a program that makes one call.
func read(ctx context.Context, out io.Writer, _ []string) error {
	site, err := demo.Connect(out, demo.PersonalKey)
	if err != nil {
		return err
	}
	defer site.Close()
	_, err = site.Client.Dashboards.List(ctx, nil)
	return err
}

func TestAnErrorBecomesAdvice(t *testing.T) {
	cases := map[string]struct {
		server *hogapitest.Server
		env    map[string]string
		faults []hogapitest.Fault
		want   []string
	}{
		"wrong key": {
			env:  map[string]string{demo.PersonalKey: "phx_nobodyHasThisKey"},
			want: []string{"Set POSTHOG_PERSONAL_API_KEY", "POSTHOG_REGION must be that one", "401"},
		},
		"the key lacks a scope": {
			server: hogapitest.New(hogapitest.WithPersonalKey("phx_exportsOnly", "batch_export:read")),
			env:    map[string]string{demo.PersonalKey: "phx_exportsOnly"},
			want:   []string{"Edit the personal API key", "dashboard:read", "403"},
		},
		"no such project": {
			env:  map[string]string{"POSTHOG_PROJECT_ID": "404"},
			want: []string{"Check POSTHOG_PROJECT_ID", "404"},
		},
		"no project": {
			env:  map[string]string{"POSTHOG_PROJECT_ID": ""},
			want: []string{"Set these environment variables", "POSTHOG_PROJECT_ID        the project's number"},
		},
		"keys swapped": {
			env:  map[string]string{demo.PersonalKey: hogapitest.DefaultProjectKey},
			want: []string{"Set these environment variables", "this is a project API key"},
		},
		"only the other key": {
			env:  map[string]string{demo.PersonalKey: ""},
			want: []string{"Set these environment variables", "POSTHOG_PERSONAL_API_KEY: want a key"},
		},
		"the plan's limit": {faults: []hogapitest.Fault{hogapitest.Status(402)}, want: []string{"billing page", "402"}},
		"busy":             {faults: []hogapitest.Fault{hogapitest.RateLimit("3600")}, want: []string{"again in some minutes", "429"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := c.server
			if server == nil {
				server = hogapitest.New()
			}
			server.Script(hogapi.OpDashboardsList, c.faults...)
			_, err := demotest.RunAt(t, server, c.env, read)
			require.Error(t, err)
			text := demo.Explain(err)
			assert.Contains(t, text, "What to do: ")
			for _, want := range c.want {
				assert.Contains(t, text, want)
			}
			for _, key := range []string{"phx_nobodyHasThisKey", "phx_exportsOnly", hogapitest.DefaultProjectKey} {
				assert.NotContains(t, text, key)
			}
		})
	}
}

func TestAWrongProjectKeyIsExplained(t *testing.T) {
	text := demo.Explain(&hogapi.StopError{Reason: hogapi.StopWrongKey})
	assert.Contains(t, text, "Set POSTHOG_PROJECT_API_KEY")
}

// Advice about the personal API key would be wrong for an import: its error says what to do.
func TestAStoppedImportExplainsItself(t *testing.T) {
	for _, reason := range []hogapi.StopReason{hogapi.StopForbidden, hogapi.StopNotFound, hogapi.StopUnreachable, hogapi.StopTooManyRejects} {
		text := demo.Explain(&hogapi.StopError{Reason: reason})
		assert.NotContains(t, text, "What to do: ")
		assert.Contains(t, text, string(reason))
	}
}

func TestAStopByHandIsNoFault(t *testing.T) {
	server := hogapitest.New()
	_, err := demotest.RunAt(t, server, nil, func(_ context.Context, out io.Writer, args []string) error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return read(ctx, out, args)
	})
	assert.Contains(t, demo.Explain(err), "You stopped it")
}

func TestWithoutKeysItIsTheFake(t *testing.T) {
	assert.Contains(t, demotest.Run(t, read), "working with a fake of the service on http://127.0.0.1:")
}
