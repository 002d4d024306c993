package realdb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// command is the program hogexport, with a project of its own and the variables that it reads.
type command struct {
	t       *testing.T
	program string
	env     []string
}

func buildCommand(t *testing.T, server *hogapitest.Server) *command {
	t.Helper()
	c := &command{t: t, program: filepath.Join(t.TempDir(), "hogexport")}
	build := exec.Command("go", "build", "-C", "../../cmd", "-o", c.program, "./hogexport")
	build.Env = append(os.Environ(), "GOWORK=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	home := t.TempDir()
	c.env = []string{
		"HOME=" + home, "HOGEXPORT_CACHE=" + home, "POSTHOG_HOST=" + server.URL(), "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject,
		"POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey, "AWS_EC2_METADATA_DISABLED=true",
	}
	return c
}

// run runs the program, and returns its exit code and output. The output must not have a secret.
func (c *command) run(env []string, args ...string) (code int, printed string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, c.program, args...)
	program.Env = append(c.env, env...)
	out, err := program.CombinedOutput()
	if err != nil {
		require.IsType(c.t, &exec.ExitError{}, err, string(out))
	}
	for _, secret := range []string{secretKey, readerSecret, accessKey, readerKey, "s3cret", hogapitest.DefaultPersonalKey} {
		assert.NotContains(c.t, string(out), secret)
	}
	return program.ProcessState.ExitCode(), strings.Join(strings.Fields(string(out)), " ")
}

func awsKeys(key, secret string) []string {
	return []string{"AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret}
}

type exported struct {
	UUID       string    `parquet:"uuid"`
	Event      string    `parquet:"event"`
	DistinctID string    `parquet:"distinct_id"`
	Timestamp  time.Time `parquet:"timestamp,timestamp(microsecond)"`
}

// The program compares a project with a strict S3: with rights to list and without, and it explains errors of keys,
// bucket and network.
func TestReconcileCommandWithBucket(t *testing.T) {
	s := startStore(t)
	s.addReader()
	server := hogapitest.New()
	t.Cleanup(server.Close)
	c := buildCommand(t, server)
	project := server.Project(hogapitest.DefaultProject)
	begin := time.Now().UTC().Truncate(time.Hour).Add(-27 * time.Hour)
	id := project.AddExport(hogapitest.Export{
		Name: "lake", Created: begin.Add(10 * time.Minute), DestinationType: "AwsS3", Integration: 2,
		Config: map[string]any{"bucket_name": "bucket", "region": "us-east-1", "prefix": "events/{year}", "file_format": "Parquet", "max_file_size_mb": 5},
	})
	const python = "2006-01-02T15:04:05+00:00"
	folder := "" // of the first object
	write := func(name string, rows []exported) {
		var b bytes.Buffer
		w := parquetgo.NewGenericWriter[exported](&b)
		_, err := w.Write(rows)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, s.send("PUT", "/bucket/"+name, b.String(), secretKey))
	}
	var first []exported
	for hour := range 24 {
		at := begin.Add(time.Duration(hour) * time.Hour)
		var rows []exported
		for i := range 50 {
			r := exported{uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, hour, i)).String(), "paid", "ada", at.Add(time.Duration(i) * time.Minute)}
			project.AddEvent(hogapitest.StoredEvent{UUID: uuid.MustParse(r.UUID), Event: r.Event, DistinctID: r.DistinctID, Time: r.Timestamp, CreatedAt: r.Timestamp})
			rows = append(rows, r)
		}
		end := at.Add(time.Hour)
		name := end.Format("events/2006/") + at.Format(python) + "-" + end.Format(python)
		write(name+"-0.parquet", rows[:30])
		write(name+"-1.parquet", rows[30:])
		require.NoError(t, s.send("PUT", "/bucket/"+name+"_manifest.json", fmt.Sprintf(`{"files": [%q, %q]}`, name+"-0.parquet", name+"-1.parquet"), secretKey))
		project.AddRun(id, hogapitest.Run{Status: hogapi.RunStatusCompleted, End: end, Created: end.Add(time.Minute), Records: 50})
		if hour == 0 {
			first, folder = rows, name
		}
	}
	reconcile := func(env []string, to string, more ...string) (int, string) {
		return c.run(env, append([]string{"reconcile", "lake", "--to", to, "--s3-endpoint", s.url, "--since", "40h"}, more...)...)
	}
	owner, reader := awsKeys(accessKey, secretKey), awsKeys(readerKey, readerSecret)
	code, printed := reconcile(owner, "s3://bucket/events")
	require.Equal(t, 0, code, printed)
	assert.Contains(t, printed, "the rows of 24 of 24 intervals agree with the runs")
	assert.Contains(t, printed, "COMPLETE: 1,200 rows delivered")
	code, printed = reconcile(reader, "s3://bucket")
	require.Equal(t, 0, code, printed)
	assert.Contains(t, printed, "the key may not list the bucket")
	assert.Contains(t, printed, "COMPLETE: 1,200 rows delivered")

	// A part lacks a row, and one of an earlier run is left behind.
	write(folder+"-0.parquet", first[1:30])
	write(folder+"-2.parquet", first[30:32])
	program := exec.Command(c.program, "reconcile", "lake", "--to", "s3://bucket/events", "--since", "40h")
	program.Env = append(c.env, append(owner, "AWS_ENDPOINT_URL_S3="+s.url)...)
	out, _ := program.CombinedOutput()
	t.Logf("transcript:\n%s", out)
	assert.Equal(t, 6, program.ProcessState.ExitCode())
	for _, says := range []string{
		"the rows of 23 of 24 intervals agree", "49 rows in the objects, and the run says 50", "1 object is of an earlier run", "-2.parquet", "1 missing, 2 doubled",
	} {
		assert.Contains(t, strings.Join(strings.Fields(string(out)), " "), says)
	}
	require.NoError(t, os.Remove(filepath.Join(s.dir, "bucket", folder+"_manifest.json")))
	code, printed = reconcile(reader, "s3://bucket/events")
	assert.Equal(t, 7, code, "neither the list nor the manifest: %s", printed)
	assert.Contains(t, printed, "the manifest of")

	for _, f := range []struct {
		env      []string
		to, says string
		code     int
	}{
		{awsKeys(accessKey, "s3cret"), "s3://bucket/events", "the secret key is wrong", 5}, {awsKeys("nobody", "s3cret"), "s3://bucket/events", "does not know the access key", 5},
		{nil, "s3://bucket/events", "no credentials", 5}, {owner, "s3://nowhere/events", "there is no such bucket", 5}, {owner, "s3://bucket/nothing", "no files of a batch export", 2},
	} {
		code, printed := reconcile(f.env, f.to)
		assert.Equal(t, f.code, code, printed)
		assert.Contains(t, printed, f.says)
	}
	code, printed = c.run(owner, "reconcile", "lake", "--to", "s3://bucket/events", "--s3-endpoint", "http://127.0.0.1:1")
	assert.Equal(t, 5, code, printed)
	assert.Contains(t, printed, "the service did not answer")
	assert.NotContains(t, printed, "127.0.0.1:1/")
}
