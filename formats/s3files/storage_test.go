package s3files_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/s3files"
)

const (
	bucket    = "bucket"
	accessKey = "AKIACANARYCANARY"
	secretKey = "CanarySecretCanarySecret"
)

// storage is a fake of S3. A fault sees each request first, and answers it where it returns true.
type storage struct {
	t      testing.TB
	web    *httptest.Server
	fake   http.Handler
	client *s3.Client

	mu     sync.Mutex
	fault  func(w http.ResponseWriter, r *http.Request) bool
	ranges []string // of GETs of objects
}

func newStorage(t testing.TB) *storage {
	s := &storage{t: t, fake: gofakes3.New(s3mem.New()).Server()}
	s.web = httptest.NewServer(s)
	t.Cleanup(s.web.Close)
	s.client = clientOf(s.web.URL)
	_, err := s.client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	require.NoError(t, err)
	return s
}

func clientOf(url string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &url, Region: "eu-central-1", UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}, nil
		}),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond }),
	})
}

func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	if r.Header.Get("Range") != "" {
		s.ranges = append(s.ranges, r.Header.Get("Range"))
	}
	s.mu.Unlock()
	if fault == nil || !fault(w, r) {
		s.fake.ServeHTTP(w, r)
	}
}

// asked are the ranges that objects were asked for since the last call.
func (s *storage) asked() (ranges []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ranges, s.ranges = s.ranges, nil
	return ranges
}

func (s *storage) setFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *storage) put(key string, content []byte) {
	r := httptest.NewRequest(http.MethodPut, "/"+bucket+"/"+key, bytes.NewReader(content))
	r.Header.Set("Content-Length", strconv.Itoa(len(content)))
	w := httptest.NewRecorder()
	s.fake.ServeHTTP(w, r)
	require.Equal(s.t, http.StatusOK, w.Code)
}

func (s *storage) files(prefix string) *s3files.FS {
	return s3files.New(s.t.Context(), s.client, bucket, prefix).Hurry(10*time.Second, time.Millisecond)
}

// isRead reports a request for a range of an object.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet && r.Header.Get("Range") != "" }

// cutEach has each n-th answer with a range end in its middle.
func (s *storage) cutEach(n int) func(w http.ResponseWriter, r *http.Request) bool {
	var mu sync.Mutex
	reads := 0
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !isRead(r) {
			return false
		}
		if reads++; reads%n != 0 {
			return false
		}
		s.answerPart(w, r, 2)
		panic(http.ErrAbortHandler)
	}
}

// answerPart sends the header of an answer, and one part in so many of its body.
func (s *storage) answerPart(w http.ResponseWriter, r *http.Request, of int) {
	whole := httptest.NewRecorder()
	s.fake.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/of])
	_ = http.NewResponseController(w).Flush()
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>"+code+"</Code><Message>"+message+"</Message></Error>")
	return true
}

// text is n bytes that differ.
func text(n int) []byte {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}
	return []byte(b.String()[:n])
}
