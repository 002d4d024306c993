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
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"
)

// store is an S3 gateway that checks signatures. It keeps its objects as files.
type store struct {
	t         *testing.T
	url, dir  string
	overwrote []string // keys that were written twice
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
	server := exec.Command(program, "--access", accessKey, "--secret", secretKey, "--port", address, "--quiet", "posix", "--nometa", s.dir)
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
