package cli_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// An import belongs to a project on a server. Another one, which would say that its events are still arriving, is refused,
// and so is another port of the host, unless it is said that the server has moved there.
func TestAnImportHasOneServerAndOneProject(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder, _ := imported(t, server)
	host := func(address string) string { return strings.TrimPrefix(address, "http://") }
	begun := host(server.URL())
	env := p.Env
	at := func(address, project string) {
		p.Env = append(slices.Clip(env), "POSTHOG_HOST="+address, "POSTHOG_PROJECT_ID="+project)
	}

	other := hogapitest.New()
	t.Cleanup(other.Close)
	at(other.URL(), hogapitest.DefaultProject)
	for _, args := range [][]string{{"verify"}, {"run", "events.jsonl", "--yes"}, {"fix", "--yes"}, {"undo"}, {"run", "--state", "hogimport-state/events"}} {
		r := p.Run(t, args...)
		assert.Equal(t, 5, r.Code, "%v: %s", args, r.Stdout)
		says(t, r.Stderr, "the import in hogimport-state/events was sent to "+begun+", and this is "+host(other.URL()))
		says(t, r.Stderr, "--moved-host "+begun+"="+host(other.URL()))
		assert.Empty(t, r.Stdout)
	}
	assert.Empty(t, other.Calls())

	server.Project("777")
	at(server.URL(), "777")
	for _, command := range []string{"verify", "undo"} {
		r := p.Ends(t, 5, command)
		says(t, r.Stderr, "is of project "+hogapitest.DefaultProject+", and this is project 777, which has none of its events give --project-id "+hogapitest.DefaultProject)
	}
	at(server.URL(), "99")
	for _, command := range []string{"verify", "undo"} {
		r := p.Ends(t, 5, command)
		says(t, r.Stderr, "is of project "+hogapitest.DefaultProject+", and this is project 99, which cannot be asked: ")
		says(t, r.Stderr, "give --project-id "+hogapitest.DefaultProject)
		assert.Contains(t, r.Stderr, "404")
	}
	assert.NoDirExists(t, filepath.Join(folder, "verify"), "none of this was a look")

	u, err := url.Parse(server.URL())
	require.NoError(t, err)
	moved := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }})
	t.Cleanup(moved.Close)
	at(moved.URL, hogapitest.DefaultProject)
	assert.Equal(t, 5, p.Run(t, "verify").Code)
	assert.Equal(t, 2, p.Run(t, "verify", "--moved-host", "elsewhere:1="+host(moved.URL)).Code)
	assert.Equal(t, 2, p.Run(t, "verify", "--moved-host", begun).Code)
	p.Ends(t, 0, "verify", "--moved-host", begun+"="+host(moved.URL))
	raw, err := os.ReadFile(filepath.Join(folder, "import.json"))
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"`+begun+"="+host(moved.URL)+`"`, "the state has it")
	for _, args := range [][]string{{"verify"}, {"run", "events.jsonl"}, {"verify", "--moved-host", begun + "=" + host(moved.URL)}} {
		r := p.Run(t, args...)
		assert.Equal(t, 0, r.Code, "%v: %s", args, r.Stderr)
	}
	at(server.URL(), hogapitest.DefaultProject)
	assert.Equal(t, 5, p.Run(t, "run", "events.jsonl").Code, "it is not there any more")
	require.Equal(t, 0, p.Run(t, "run", "events.jsonl", "--moved-host", host(moved.URL)+"="+begun).Code)
	require.Equal(t, 0, p.Run(t, "verify").Code)
}
