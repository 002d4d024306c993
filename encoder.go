package hogapi

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoder compresses the bodies of requests.
type Encoder interface {
	Encoding() string      // the Content-Encoding, such as "gzip"
	NewWriter() BodyWriter // is used for one body after another, by one goroutine
}

// BodyWriter compresses one body after another: each begins with Reset and ends with Close.
type BodyWriter interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// Gzip compresses with gzip, which every server takes.
func Gzip() Encoder { return gzipEncoder{} }

type gzipEncoder struct{}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// Encoding implements Encoder.
func (gzipEncoder) Encoding() string { return "gzip" }

// NewWriter implements Encoder.
func (gzipEncoder) NewWriter() BodyWriter {
	w, _ := gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	return w
}

// Zstd compresses with Zstandard, which capture v1 takes: smaller bodies for about the same time.
func Zstd() Encoder { return zstdEncoder{} }

type zstdEncoder struct{}

// Encoding implements Encoder.
func (zstdEncoder) Encoding() string { return "zstd" }

// NewWriter implements Encoder.
func (zstdEncoder) NewWriter() BodyWriter {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
	return w
}
