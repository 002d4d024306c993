package realdb

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

// store is an S3 gateway that checks signatures. It keeps its objects as files.
type store struct {
	t         *testing.T
	url, dir  string
	overwrote []string // keys that were written twice
	read      atomic.Int64
}

const accessKey, secretKey = "hogapi-test", "hogapi-test-secret"

func startStore(t *testing.T) *store {
	t.Helper()
	program := os.Getenv("VERSITYGW")
	if program == "" {
		t.Skip("needs VERSITYGW, the program of github.com/versity/versitygw")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	s := &store{t: t, url: "http://" + address, dir: t.TempDir()}
	server := exec.Command(program, "--access", accessKey, "--secret", secretKey, "--port", address, "--iam-dir", t.TempDir(), "--quiet",
		"posix", "--sidecar", t.TempDir(), s.dir)
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool { return s.send(http.MethodPut, "/bucket", "", secretKey) == nil }, time.Minute, 100*time.Millisecond)
	require.ErrorContains(t, s.send(http.MethodPut, "/bucket/x", "", "wrong"), "SignatureDoesNotMatch")
	return s
}

// send makes a signed request.
func (s *store) send(method, path, body, secret string) error {
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	request.Header.Set("X-Amz-Content-Sha256", hash)
	credentials := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(s.t.Context(), credentials, request, hash, "s3", "us-east-1", time.Now()); err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}

// addReader adds a user who may read objects, and not list them.
func (s *store) addReader() {
	s.t.Helper()
	admin := exec.Command(os.Getenv("VERSITYGW"), "admin", "--access", accessKey, "--secret", secretKey, "--endpoint-url", s.url,
		"create-user", "--access", readerKey, "--secret", readerSecret, "--role", "user")
	out, err := admin.CombinedOutput()
	require.NoError(s.t, err, string(out))
	_, err = s.client(accessKey, secretKey).PutBucketPolicy(s.t.Context(), &s3.PutBucketPolicyInput{Bucket: aws.String("bucket"), Policy: aws.String(`{
		"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ["` + readerKey + `"]}, "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::bucket/*"]}]
	}`)})
	require.NoError(s.t, err)
}

const readerKey, readerSecret = "hogapi-reader", "hogapi-reader-secret"

// client returns a client of Amazon's SDK.
func (s *store) client(key, secret string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.url, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
		HTTPClient: &http.Client{Transport: s},
	})
}

// RoundTrip counts the bytes of bodies.
func (s *store) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.ContentLength > 0 && r.Method == http.MethodGet {
		s.read.Add(answer.ContentLength)
	}
	return answer, err
}

// putFile writes an object with the content of a file.
func (s *store) putFile(key, path string) {
	s.t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(s.t, err)
	require.NoError(s.t, s.send(http.MethodPut, "/bucket/"+key, string(content), secretKey))
}

// put writes an object with rows.
func (s *store) put(key string, rows []string) {
	if _, err := os.Stat(filepath.Join(s.dir, "bucket", key)); err == nil {
		s.overwrote = append(s.overwrote, key)
	}
	require.NoError(s.t, s.send(http.MethodPut, "/bucket/"+key, strings.Join(rows, "\n"), secretKey))
}

// copies returns how often each row is below a prefix.
func (s *store) copies(prefix string) map[string]int {
	copies := map[string]int{}
	require.NoError(s.t, filepath.WalkDir(filepath.Join(s.dir, "bucket", prefix), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for row := range strings.FieldsSeq(string(text)) {
			copies[row]++
		}
		return err
	}))
	return copies
}
