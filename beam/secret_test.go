package hogbeam_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/hogapitest"
)

// The job as it travels to a runner, in every transform of the package, holds names of keys and no key.
func TestTheSerialisedJobHoldsNoKey(t *testing.T) {
	server := newServer(t)
	const canary = "phc_canaryInTheEnvironment"
	o := optionsFor(t, server)
	t.Setenv(key, canary)
	file := filepath.Join(t.TempDir(), "personal.key")
	require.NoError(t, os.WriteFile(file, []byte("phx_canaryInAFile\n"), 0o600))
	o.Service.PersonalKey = hogbeam.SecretRef{File: file}

	p, s := beam.NewPipelineWithRoot()
	hogbeam.WriteHistorical(s, o, hogbeam.ReadJSONLines(s, writeFile(t, "a.jsonl", "{}")))
	hogbeam.ListRuns(s, o.Service, hogapi.RunListOptions{}, hogbeam.ListExports(s, o.Service, "1"))
	edges, _, err := p.Build()
	require.NoError(t, err)
	job, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{}})
	require.NoError(t, err)
	wire, err := proto.Marshal(job)
	require.NoError(t, err)
	for _, text := range []string{string(wire), prototext.Format(job)} {
		assert.NotContains(t, text, "canary")
	}
	assert.Contains(t, string(wire), "WriteHistorical")
}

func TestAKeyIsFoundOnTheWorker(t *testing.T) {
	server := newServer(t)
	glob := writeEvents(t, 10, 1)
	o := optionsFor(t, server)
	file := filepath.Join(t.TempDir(), "project.key")
	o.Service.ProjectKey = hogbeam.SecretRef{File: file}
	assert.Contains(t, failure(t, o, glob), "this machine cannot read the key")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Contains(t, failure(t, o, glob), "is empty")
	require.NoError(t, os.WriteFile(file, []byte(hogapitest.DefaultProjectKey+"\n"), 0o600))
	must(t, o, fromFiles(glob))
	assert.Equal(t, 10, server.Ledger().Unique())

	o.Service.ProjectKey = hogbeam.SecretRef{Env: "HOGBEAM_TEST_NO_SUCH_KEY"}
	assert.Contains(t, failure(t, o, glob), "no key in the environment variable HOGBEAM_TEST_NO_SUCH_KEY")
}
