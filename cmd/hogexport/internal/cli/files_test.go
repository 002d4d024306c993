package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/uuid"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// row is a row of a file of an export.
type row struct {
	UUID       string    `json:"uuid" parquet:"uuid"`
	Event      string    `json:"event" parquet:"event"`
	DistinctID string    `json:"distinct_id" parquet:"distinct_id"`
	Properties string    `json:"properties" parquet:"properties"`
	Timestamp  time.Time `json:"timestamp" parquet:"timestamp,timestamp(microsecond)"`
}

// addRows adds events to the project of a program, and returns them as rows.
func (p *program) addRows(n int) (rows []row) {
	begin := time.Now().UTC().Truncate(time.Hour).Add(-30 * time.Hour)
	for i := range n {
		id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
		at := begin.Add(time.Duration(i) * time.Minute)
		p.server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{UUID: id, Event: "paid", DistinctID: "ada", Time: at, CreatedAt: at})
		rows = append(rows, row{id.String(), "paid", "ada", "{}", at})
	}
	return rows
}

func asParquet(t *testing.T, rows []row) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquetgo.NewGenericWriter[row](&b, parquetgo.Compression(&parquetgo.Zstd))
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func asLines(t *testing.T, rows []row, ending string) []byte {
	t.Helper()
	var text, b bytes.Buffer
	for _, r := range rows {
		require.NoError(t, json.NewEncoder(&text).Encode(r))
	}
	var w io.WriteCloser
	switch ending {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".br":
		w = brotli.NewWriter(&b)
	case ".zst":
		packer, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = packer
	default:
		return text.Bytes()
	}
	_, err := text.WriteTo(w)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// A folder may hold files of each format of an export. Files that no export writes are named.
func TestReconcileFolder(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("lake", good)
	rows, folder := p.addRows(100), t.TempDir()
	write := func(name string, content []byte) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	write("2026/a.parquet.zst", asParquet(t, rows[:20]))
	write("2026/b.jsonl.gz", asLines(t, rows[20:40], ".gz"))
	write("2026/c.jsonl.br", asLines(t, rows[40:60], ".br"))
	write("2026/d.jsonl.zst", asLines(t, rows[60:80], ".zst"))
	write("e.jsonl", asLines(t, rows[81:], ""))
	write("notes.txt", []byte("not a row"))
	reconcile := []string{"reconcile", "lake", "--to", folder, "--since", "40h"}
	p.ends(t, 6, reconcile...).out(t, "note: 4 files of JSON lines and 1 file of Parquet were read", "note: 1 file not read, since exports do not write such names: notes.txt", "99 rows delivered, 1 missing")

	write("f.jsonl", asLines(t, rows[80:81], ""))
	p.ends(t, 0, reconcile...)

	packed := asLines(t, rows[40:60], ".br")
	for name, content := range map[string][]byte{
		"2026/c.jsonl.br":    packed[:len(packed)-9],
		"2026/a.parquet.zst": asParquet(t, rows[:20])[:300],
		"e.jsonl":            asLines(t, rows[81:], "")[:150],
	} {
		good := read(t, filepath.Join(folder, name))
		write(name, content)
		r := p.run(t, reconcile...)
		assert.Contains(t, []int{1, 7}, r.code, "%s%s", r.stdout, r.stderr)
		says(t, r.stdout+r.stderr, filepath.Base(name))
		assert.NotContains(t, r.stdout, "COMPLETE:")
		write(name, []byte(good))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "2026")))
	require.NoError(t, os.Remove(filepath.Join(folder, "e.jsonl")))
	require.NoError(t, os.Remove(filepath.Join(folder, "f.jsonl")))
	p.ends(t, 2, reconcile...).err(t, "no files of a batch export, but others, such as notes.txt")
}

// aBucket is a fake S3 that refuses the requests a test names.
type aBucket struct {
	url     string
	fake    http.Handler
	refuses func(r *http.Request) string // a code, or nothing
}

func newBucket(t *testing.T) *aBucket {
	t.Helper()
	b := &aBucket{fake: gofakes3.New(s3mem.New()).Server(), refuses: func(*http.Request) string { return "" }}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := b.refuses(r); code != "" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>s3cret</Message></Error>", code)
			return
		}
		b.fake.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	b.url = web.URL
	b.put(t, "", nil)
	return b
}

func (b *aBucket) put(t *testing.T, key string, content []byte) {
	b.run(t, http.MethodPut, key, content)
}

func (b *aBucket) run(t *testing.T, method, key string, content []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, "/lake/"+key, bytes.NewReader(content))
	r.Header.Set("Content-Length", fmt.Sprint(len(content)))
	w := httptest.NewRecorder()
	b.fake.ServeHTTP(w, r)
	require.Less(t, w.Code, http.StatusMultipleChoices, w.Body)
}

// objectName is the name of the object of an hour, as an export gives it.
func objectName(start time.Time) string {
	const python = "2006-01-02T15:04:05+00:00"
	return start.Format(python) + "-" + start.Add(time.Hour).Format(python) + ".parquet"
}

// The rows of a project are compared with the objects of a bucket, and the objects with the runs.
func TestReconcileBucket(t *testing.T) {
	t.Parallel()
	p, b := newProgram(t), newBucket(t)
	rows := p.addRows(120)
	project, hour := p.server.Project(hogapitest.DefaultProject), rows[0].Timestamp
	id := project.AddExport(hogapitest.Export{
		Name: "lake", Created: hour.Add(-5 * time.Hour), DestinationType: "AwsS3", Integration: 2,
		Config: map[string]any{"bucket_name": "lake", "region": "us-east-1", "prefix": "events/", "file_format": "Parquet"},
	})
	for at := hour.Add(-5 * time.Hour); at.Before(time.Now().Add(-time.Hour)); at = at.Add(time.Hour) {
		records := 0
		if n := int(at.Sub(hour) / time.Hour); n == 0 || n == 1 {
			records = 60
			b.put(t, "events/"+objectName(at), asParquet(t, rows[60*n:60*n+60]))
		}
		project.AddRun(id, hogapitest.Run{Status: hogapi.RunStatusCompleted, End: at.Add(time.Hour), Created: at.Add(time.Hour + time.Minute), Extra: map[string]any{"records_completed": records}})
	}
	p.env["AWS_ACCESS_KEY_ID"], p.env["AWS_SECRET_ACCESS_KEY"] = "AKIACANARY", "s3cret"
	p.env["AWS_SHARED_CREDENTIALS_FILE"], p.env["AWS_CONFIG_FILE"] = filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "none")
	reconcile := func(code int, to string) result {
		r := p.ends(t, code, "reconcile", "lake", "--to", to, "--s3-endpoint", b.url, "--since", "40h")
		for _, secret := range []string{"s3cret", "AKIACANARY", "127.0.0.1"} {
			assert.NotContains(t, r.stdout+r.stderr, secret)
		}
		return r
	}
	reconcile(0, "s3://lake/events").out(t, "note: objects: the rows of 2 of 2 intervals agree with the runs", "COMPLETE: 120 rows delivered")

	denied := func(r *http.Request) string {
		if r.URL.Query().Has("list-type") {
			return "AccessDenied"
		}
		return ""
	}
	b.refuses = denied
	reconcile(0, "s3://lake/").out(t, "note: objects: the rows of 2 of 2", "note: the key may not list the bucket", "COMPLETE: 120 rows delivered")
	b.refuses = func(r *http.Request) string {
		if strings.Contains(r.URL.Path, objectName(hour)) {
			return "AccessDenied"
		}
		return denied(r)
	}
	r := reconcile(7, "s3://lake/events").out(t, objectName(hour), "access is denied", "CANNOT TELL")
	assert.NotContains(t, r.stdout, "1 missing", "a file that is refused is not one that lacks rows")
	b.refuses = denied
	b.run(t, http.MethodDelete, "events/"+objectName(hour), nil)
	reconcile(7, "s3://lake/events").err(t, "but the bucket has no file of this name", "allow s3:ListBucket")
	reconcile(7, "s3://lake/others").err(t, "not below the prefix", "allow s3:ListBucket")

	b.refuses = func(*http.Request) string { return "" }
	b.put(t, "events/"+objectName(hour), asParquet(t, rows[1:60]))
	reconcile(6, "s3://lake/events").out(t, "1 of 2 intervals agree", "59 rows in the objects, and the run says 60", "119 rows delivered, 1 missing")

	for code, want := range map[string]string{"InvalidAccessKeyId": "does not know the access key", "SignatureDoesNotMatch": "the secret key is wrong", "ExpiredToken": "have expired"} {
		b.refuses = func(*http.Request) string { return code }
		reconcile(5, "s3://lake/events").err(t, want, "check AWS_ACCESS_KEY_ID")
	}
	b.refuses = func(*http.Request) string { return "" }
	for _, c := range []struct {
		to, endpoint, says string
		code               int
	}{
		{"s3://nowhere/events", b.url, "there is no such bucket", 5}, {"s3://lake/nothing", b.url, "no files of a batch export", 2},
		{"s3://", b.url, "does not name a bucket", 2}, {"s3://lake/events", "127.0.0.1:9000", "is not the URL of a service", 2},
		{"s3://lake/events", "http://127.0.0.1:1", "did not answer", 5},
	} {
		p.ends(t, c.code, "reconcile", "lake", "--to", c.to, "--s3-endpoint", c.endpoint, "--since", "40h").err(t, c.says)
	}
}

// Keys and the endpoint come from the profile where no variable has them. A profile without keys says how to get them.
func TestReconcileProfile(t *testing.T) {
	t.Parallel()
	p, b := newProgram(t), newBucket(t)
	p.addExport("lake", good)
	b.put(t, "a.parquet", asParquet(t, p.addRows(10)))
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	var key string
	b.refuses = func(r *http.Request) string {
		key, _, _ = strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		return ""
	}
	p.env["AWS_SHARED_CREDENTIALS_FILE"] = write("credentials", "[lake]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = s3cret\n")
	p.env["AWS_CONFIG_FILE"] = write("config", "[profile lake]\nendpoint_url = "+b.url+"\n[profile role]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = lake\n[broken\n")
	p.env["AWS_PROFILE"] = "lake"
	p.ends(t, 0, "reconcile", "lake", "--to", "s3://lake", "--since", "40h")
	assert.Equal(t, "AKIAPROFILE", key)
	p.env["AWS_ACCESS_KEY_ID"], p.env["AWS_SECRET_ACCESS_KEY"] = "AKIAENV", "other"
	p.run(t, "reconcile", "lake", "--to", "s3://lake", "--since", "40h")
	assert.Equal(t, "AKIAENV", key)
	delete(p.env, "AWS_ACCESS_KEY_ID")
	for profile, says := range map[string]string{"role": "has no keys: it uses a role", "gone": "the AWS profile cannot be read"} {
		p.env["AWS_PROFILE"] = profile
		r := p.ends(t, 5, "reconcile", "lake", "--to", "s3://lake", "--since", "40h").err(t, says)
		assert.NotContains(t, r.stderr, "s3cret")
	}
}
