package delivery

import (
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The Content-Encodings of [NewEncoder].
const (
	Gzip = "gzip"
	Zstd = "zstd"
)

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// NewEncoder returns an encoder for a Content-Encoding.
func NewEncoder(encoding string) Encoder {
	if encoding == Zstd {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
		return w
	}
	w, _ := gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	return w
}
