package proof_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

const commitsFile = "testdata/commits.jsonl.gz"

type commit struct {
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  time.Time      `json:"timestamp"`
	UUID       uuid.UUID      `json:"uuid"`
	Properties map[string]any `json:"properties"`
}

func readCommits(t *testing.T) (commits []commit, plain string) {
	t.Helper()
	f, err := os.Open(commitsFile)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		var c commit
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return commits, string(text)
		}
		require.NoError(t, err)
		commits = append(commits, c)
	}
}

// The real file arrives unchanged: every event, every instant in any zone, every property with its digits.
func TestImportOfRealCommits(t *testing.T) {
	t.Parallel()
	commits, _ := readCommits(t)
	require.Len(t, commits, 11_576)
	server := hogapitest.New()
	receipt, err := history.Import(t.Context(), server.Client(t), history.JSONLines(commitsFile), &history.Options{ID: "commits", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)
	assert.EqualValues(t, len(commits), receipt.Read)
	assert.EqualValues(t, len(commits), receipt.Acknowledged)
	ledger := server.Ledger()
	require.Equal(t, len(commits), ledger.Len())
	added := map[string]bool{"$lib": true, "$lib_version": true, "$geoip_disable": true, "$import_job_id": true, "distinct_id": true, "$ignore_sent_at": true}
	for _, want := range commits {
		stored := ledger.Find(want.UUID)
		require.Len(t, stored, 1)
		got := stored[0]
		require.Equal(t, want.Event, got.Event)
		require.Equal(t, want.DistinctID, got.DistinctID)
		require.True(t, want.Timestamp.Equal(got.Time), "%s became %s", want.Timestamp, got.Timestamp)
		var properties map[string]any
		numbers := json.NewDecoder(bytes.NewReader(got.Properties))
		numbers.UseNumber()
		require.NoError(t, numbers.Decode(&properties))
		for key := range properties {
			if _, own := want.Properties[key]; !own && added[key] {
				delete(properties, key)
			}
		}
		require.Equal(t, want.Properties, properties)
	}
}

// The golden hashes cover all events of the real file as sent, without uuids and with a fixed version. They are the same in every
// process, with any number of processors, on 32 and 64 bit, and for the gzipped file.
const (
	goldenBatch = "681c1cab0e434f8e1489e66190652f417ce76cd13b37278c7ab3ab8e07a2b3fa"
	goldenV1    = "742715755bd95145dc29727666af7218994bf2c8975fe9d3e4059574e219aaa8"
)

func TestSameBytesEverywhere(t *testing.T) {
	t.Parallel()
	_, plain := readCommits(t)
	var b strings.Builder
	for line := range strings.Lines(plain) {
		i := strings.Index(line, `"uuid":"`)
		line = line[:i] + line[i+len(`"uuid":"`)+36+len(`",`):]
		b.WriteString(strings.Replace(line, `"properties":{`, `"properties":{"$lib_version":"any",`, 1))
	}
	for processors, content := range map[string]string{"1": b.String(), "2": b.String(), "8": testevents.Gzip(b.String())} {
		server, golden := hogapitest.New(), goldenV1
		if processors == "2" {
			server, golden = hogapitest.New(hogapitest.WithoutV1()), goldenBatch
		}
		report := runChild(t, task{Do: "import", URL: serve(t, server), File: writeFile(t, "commits.jsonl", content)}, "GOMAXPROCS="+processors)
		require.Empty(t, report.Error)
		var events []string
		for e := range server.Ledger().Events() {
			events = append(events, string(e.Raw))
		}
		slices.Sort(events)
		sum := sha256.Sum256([]byte(strings.Join(events, "\n")))
		assert.Equal(t, golden, hex.EncodeToString(sum[:]), "%s processors, %s", processors, runtime.GOARCH)
	}
}
