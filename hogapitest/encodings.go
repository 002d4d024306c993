package hogapitest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
)

type decoder func(packed io.Reader) (io.Reader, error)

// decoders are the encodings of capture v1 that the package writes. The service takes deflate and br too.
var decoders = map[string]decoder{
	"gzip": func(packed io.Reader) (io.Reader, error) { return gzip.NewReader(packed) },
	"zstd": func(packed io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// unpackV1 decompresses as the header says, without looking at the bytes.
func unpackV1(h http.Header, body []byte) (plain []byte) {
	name, there := header(h, "Content-Encoding")
	name = strings.ToLower(name)
	decode := decoders[name]
	tooLarge := len(body) > maxBodyV1
	switch {
	case there && decode == nil:
		refuseV1(http.StatusUnsupportedMediaType, "unsupported_encoding", "Content-Encoding must be one of gzip, deflate, br, zstd; the fake has no decoder for deflate and br")
	case len(body) == 0:
		refuseV1(http.StatusBadRequest, "empty_body", "the request body is empty")
	case !there && !tooLarge:
		return body
	}
	var err error
	if !tooLarge {
		plain, err = decoded(decode, body, maxBodyV1*inflation)
	}
	if tooLarge || errors.Is(err, errTooLarge) {
		refuseV1(http.StatusRequestEntityTooLarge, "payload_too_large", "the request body is too large, as received or decompressed")
	}
	if err != nil {
		refuseV1(http.StatusBadRequest, "request_decoding_error", "the request body cannot be decompressed")
	}
	return plain
}

// decoded unpacks less than limit bytes: the service stops when the limit is reached.
func decoded(decode decoder, body []byte, limit int) ([]byte, error) {
	r, err := decode(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)))
	if len(plain) >= limit {
		return nil, errTooLarge
	}
	return plain, err
}
