package hogapi

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoder compresses the bodies of requests. Its zero value stands for the default.
type Encoder struct {
	Encoding string            // the Content-Encoding, such as "gzip"
	New      func() BodyWriter `json:"-"` // a writer that is used for one body after another
}

// BodyWriter compresses one body after another: each begins with Reset and ends with Close.
type BodyWriter interface {
	io.WriteCloser
	Reset(to io.Writer)
}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// Gzip compresses with gzip, which every server takes.
func Gzip() Encoder {
	return Encoder{"gzip", func() BodyWriter {
		w, _ := gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
		return w
	}}
}

// Zstd compresses with Zstandard, which capture v1 takes: smaller bodies for about the same time.
func Zstd() Encoder {
	return Encoder{"zstd", func() BodyWriter {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
		return w
	}}
}

// isValid reports whether an encoder can be used. "identity" is no compression.
func (e Encoder) isValid() bool {
	if e.New == nil {
		return e.Encoding == ""
	}
	return isPathSegment(e.Encoding) && e.Encoding != "identity"
}
