package cli

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// sizes returns the size of files in bytes, and about the size of their unpacked text: an estimate from the
// beginning of each packed file, for a bar. The second is 0 if it is not known.
func sizes(ctx context.Context, paths []string) (packed, plain int64) {
	isKnown := true
	for _, path := range paths {
		if ctx.Err() != nil {
			return packed, 0
		}
		size, text := sizeOf(path)
		packed += size
		plain += text
		isKnown = isKnown && (text > 0 || size == 0)
	}
	if !isKnown {
		plain = 0
	}
	return packed, plain
}

func sizeOf(path string) (packed, plain int64) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, 0
	}
	f, err := os.Open(path)
	if err != nil {
		return info.Size(), 0
	}
	defer f.Close()
	if archive, err := zip.NewReader(f, info.Size()); err == nil {
		return info.Size(), zipSize(archive)
	}
	_, _ = f.Seek(0, io.SeekStart)
	return info.Size(), int64(float64(info.Size()) * expansion(f))
}

// zipSize returns the unpacked size of the members of an archive, which may be packed themselves.
func zipSize(archive *zip.Reader) (plain int64) {
	factor := 0.0
	for _, member := range archive.File {
		if factor == 0 && member.UncompressedSize64 > 0 {
			if r, err := member.Open(); err == nil {
				factor = expansion(r)
				_ = r.Close()
			}
		}
		plain += int64(float64(member.UncompressedSize64) * factor)
	}
	return plain
}

// expansion returns the ratio by which the beginning of a file grows when it is unpacked: 1 for text, 0 if it
// cannot be unpacked.
func expansion(r io.Reader) float64 {
	const most = 4 << 20 // of text
	packed := &counter{r: r}
	text, isPacked, end := unpacked(packed)
	defer end()
	switch {
	case text == nil:
		return 0
	case !isPacked:
		return 1
	}
	n, _ := io.CopyN(io.Discard, text, most)
	return float64(n) / float64(max(packed.n, 1))
}

// unpacked returns the text of a file, which may be packed with gzip or zstd. It returns nil for a zip archive,
// and if the file cannot be unpacked. The caller must call end.
func unpacked(r io.Reader) (text io.Reader, isPacked bool, end func()) {
	in := bufio.NewReaderSize(r, 4<<10)
	head, _ := in.Peek(4)
	switch end = func() {}; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, true, end
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if z, err := gzip.NewReader(in); err == nil {
			return z, true, end
		}
		return nil, true, end
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, true, end
		}
		return z, true, z.Close
	}
	return in, false, end
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
