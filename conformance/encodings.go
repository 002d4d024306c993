package main

import (
	"compress/zlib"
	"fmt"

	"github.com/andybalholm/brotli"

	"github.com/hogapi/hogapi"
)

// encoder makes an encoder from a function, as a user would.
type encoder struct {
	encoding string
	create   func() hogapi.BodyWriter
}

func (e encoder) Encoding() string             { return e.encoding }
func (e encoder) NewWriter() hogapi.BodyWriter { return e.create() }

// encoderOf returns the encoder for a Content-Encoding: two of the package, and two that it does not have.
func encoderOf(encoding string) (hogapi.Encoder, error) {
	switch encoding {
	case "gzip":
		return hogapi.Gzip(), nil
	case "zstd":
		return hogapi.Zstd(), nil
	case "br":
		return encoder{"br", func() hogapi.BodyWriter { return brotli.NewWriterLevel(nil, brotli.BestSpeed) }}, nil
	case "deflate":
		return encoder{"deflate", func() hogapi.BodyWriter { return zlib.NewWriter(nil) }}, nil
	}
	return nil, fmt.Errorf("CONFORMANCE_ENCODING: want gzip, zstd, br or deflate, not %q", encoding)
}
