package hogapitest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packed compresses a body.
func packed(t *testing.T, encoding string, body []byte) []byte {
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, _ = zstd.NewWriter(&b)
	}
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestV1Encodings(t *testing.T) {
	body := v1Batch(v1Event(1))
	over(t, nil, func(t *testing.T, w *wire) {
		for _, test := range []struct {
			encoding string
			body     []byte
		}{
			{"", body}, {"GZip", packed(t, "gzip", body)}, {"zstd", packed(t, "zstd", body)},
		} {
			a := w.post(test.body, "Content-Encoding", test.encoding)
			assert.Equal(t, []string{"ok"}, a.results(t), test.encoding)
			if test.encoding != "" {
				a = w.post([]byte("no such stream"), "Content-Encoding", test.encoding)
				assert.Equal(t, 400, a.StatusCode, test.encoding)
				assert.Contains(t, []string{"request_decoding_error", "request_parsing_error"}, a.tag(t), test.encoding)
			}
		}
		assert.Equal(t, 3, w.Ledger().Len())
	})
}

func TestV1Sizes(t *testing.T) {
	w := inProcess(t)
	blanks := func(n int) []byte { // a batch of n bytes
		body := v1Batch(v1Event(1))
		return append(body, bytes.Repeat([]byte(" "), n-len(body))...)
	}
	assert.Equal(t, 200, w.post(blanks(10<<20)).StatusCode)
	a := w.post(blanks(10<<20 + 1))
	assert.Equal(t, 413, a.StatusCode)
	assert.Equal(t, "payload_too_large", a.tag(t))
	assert.Equal(t, 200, w.post(packed(t, "gzip", blanks(50<<20-1)), "Content-Encoding", "gzip").StatusCode)
	for _, encoding := range []string{"gzip", "zstd"} { // it trips when the limit is reached
		a = w.post(packed(t, encoding, blanks(50<<20)), "Content-Encoding", encoding)
		assert.Equal(t, 413, a.StatusCode)
		assert.Equal(t, "payload_too_large", a.tag(t))
	}
}
