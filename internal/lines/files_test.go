package lines_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/ops"
)

func write(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func zipped(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression) // a wrong byte makes a wrong line
	require.NoError(t, err)
	_, err = io.WriteString(z, content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// collect returns a walk that notes each line as "file@end text".
type copies struct{ got *[]string }

func (c copies) Copied(name, earlier string) { *c.got = append(*c.got, name+" is "+earlier) }

func collect(got *[]string) lines.Walk {
	return lines.Walk{
		Options: lines.Options{Layout: lines.Lines, Longest: 100, Verify: 1 << 20},
		Copies:  copies{got},
		Take: func(f *lines.File, l lines.Line) bool {
			*got = append(*got, fmt.Sprintf("%s@%d %s", f.Name(), l.End, l.Text))
			return true
		},
	}
}

func readFiles(t *testing.T, paths ...string) (got []string, err error) {
	t.Helper()
	err = lines.NewFiles(paths).Read(t.Context(), "", 0, collect(&got))
	return got, err
}

func TestFiles(t *testing.T) {
	t.Parallel()
	one, two, empty := write(t, "1", "a\n \t\n\nb\r\n"), write(t, "2", zipped(t, "c\nd")), write(t, "empty", "")
	paths := []string{one, empty, two}
	files := lines.NewFiles(paths)
	assert.Equal(t, paths, files.Paths())
	assert.Equal(t, "1,empty,2", files.Name())
	all := []string{"1@2 a", "1@9 b", "2@2 c", "2@4 d"}
	got, err := readFiles(t, paths...)
	require.NoError(t, err)
	assert.Equal(t, all, got)
	for i, line := range all { // from each position, reading yields the rest
		var name string
		var offset int64
		_, err := fmt.Sscanf(strings.Replace(line, "@", " ", 1), "%s %d", &name, &offset)
		require.NoError(t, err)
		var rest []string
		require.NoError(t, files.Read(t.Context(), name, offset, collect(&rest)))
		assert.Equal(t, all[i+1:], append([]string{}, rest...))
	}

	taken, w := 0, collect(&got)
	w.Take = func(*lines.File, lines.Line) bool { taken++; return false }
	require.NoError(t, files.Read(t.Context(), "", 0, w))
	assert.Equal(t, 1, taken)

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	w.Take = func(*lines.File, lines.Line) bool { cancel(why); return true }
	require.ErrorIs(t, files.Read(ctx, "", 0, w), why)
	between, end := context.WithCancelCause(t.Context())
	w.Take = func(*lines.File, lines.Line) bool { end(why); return true }
	short := lines.NewFiles([]string{write(t, "short", "a\n"), two})
	require.ErrorIs(t, short.Read(between, "", 0, w), why, "the next file is not opened")
}

func TestFilesThatAreCopies(t *testing.T) {
	t.Parallel()
	got, err := readFiles(t, write(t, "1", "a\n"), write(t, "2", "b\n"), write(t, "3", zipped(t, "a\n")), write(t, "4", ""), write(t, "5", ""))
	require.NoError(t, err)
	assert.Equal(t, []string{"1@2 a", "2@2 b", "3 is 1", "3@2 a"}, got)
}

func TestFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	path := write(t, "e", "a\n")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	for want, paths := range map[string][]string{
		"at least one file":                        nil,
		"different base names":                     {path, write(t, "e", "")},
		`each file once: this is the same file as`: {path, link},
		"UTF-8": {filepath.Join(t.TempDir(), "\xff")},
	} {
		_, err := readFiles(t, paths...)
		require.ErrorAs(t, err, new(*ops.InputError))
		require.ErrorContains(t, err, want)
	}
	_, err := readFiles(t, path, path+"2", path+"3")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "e3", "all that are missing")
	var got []string
	require.ErrorIs(t, lines.NewFiles([]string{path}).Read(t.Context(), "other", 1, collect(&got)), lines.ErrNoPosition)
	require.ErrorIs(t, lines.NewFiles([]string{path}).Read(t.Context(), "e", -1, collect(&got)), lines.ErrNoPosition)
	assert.Empty(t, got)
}

func TestLastLineThatIsNotFinished(t *testing.T) {
	t.Parallel()
	got, err := readFiles(t, write(t, "e", "{}\n{\"a\":"))
	require.ErrorContains(t, err, "e: line 2, the last one, is not finished")
	assert.Equal(t, []string{"e@3 {}"}, got)
	_, err = readFiles(t, write(t, "e", "{}\nrubbish"))
	require.NoError(t, err, "not the beginning of a JSON text")
}

func TestFingerprintOfFiles(t *testing.T) {
	t.Parallel()
	path, got := write(t, "e", "a\nb\n"), []string(nil)
	files := lines.NewFiles([]string{path})
	w := collect(&got)
	require.NoError(t, files.Read(t.Context(), "", 0, w))
	w.Known = files.Fingerprint("e", 2)
	assert.NotZero(t, w.Known)
	assert.Zero(t, files.Fingerprint("other", 2))
	require.NoError(t, files.Read(t.Context(), "e", 2, w))

	require.NoError(t, os.Rename(path, path+"2"))
	require.NoError(t, os.WriteFile(path, []byte("x\nb\n"), 0o600))
	assert.Equal(t, lines.Replaced, files.Fingerprint("e", 2), "it was never read")
	require.ErrorIs(t, files.Read(t.Context(), "e", 2, w), lines.ErrOtherFile)
	w.Known = lines.Replaced
	require.ErrorIs(t, files.Read(t.Context(), "e", 2, w), lines.ErrReplaced)

	many := []string{write(t, "0", "a\nb\n"), write(t, "1", "c\nd\n"), write(t, "2", "e\nf\n")}
	files = lines.NewFiles(many)
	require.NoError(t, files.Read(t.Context(), "", 0, collect(&got))) // to the last
	for i, path := range many {
		w.Known = files.Fingerprint(strconv.Itoa(i), 2)
		require.NoError(t, files.Read(t.Context(), strconv.Itoa(i), 2, w))
		require.NoError(t, os.WriteFile(path, []byte("x\nb\n"), 0o600))
		require.ErrorIs(t, files.Read(t.Context(), strconv.Itoa(i), 2, w), lines.ErrOtherFile)
	}
}

func TestNameOfManyFiles(t *testing.T) {
	t.Parallel()
	many := make([]string, 1000)
	for i := range many {
		many[i] = filepath.Join("folder", strings.Repeat("x", i%7)+strconv.Itoa(1e9+i)+".jsonl")
	}
	name := lines.NewFiles(many).Name()
	assert.Less(t, len(name), 150)
	assert.Contains(t, name, "1000 files")
	assert.Equal(t, name, lines.NewFiles(many).Name())
	many[500] += "2"
	assert.NotEqual(t, name, lines.NewFiles(many).Name())
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	packed := zipped(t, strings.Repeat(`{"event":"a"}`+"\n", 1000))
	damaged := []byte(packed)
	damaged[len(damaged)-6]++ // of the checksum
	const notSent = "e: the gzip file is cut off or damaged, so nothing of it was sent"
	for content, want := range map[string]string{
		string(damaged): notSent, packed + "more": notSent, zipped(t, packed): "compressed twice", "PK\x03\x04..": "zip file", "\x28\xb5\x2f\xfd..": "zstd",
		"BZh91AY": "bzip2", "\xfd7zXZ\x00": "xz", "\xff\xfe{\x00": "UTF-16",
	} {
		got, err := readFiles(t, write(t, "e", content))
		require.ErrorContains(t, err, want)
		assert.Empty(t, got, want)
	}
}

// versions is a file system that knows versions of its files, and cannot list them.
type versions struct {
	fstest.MapFS

	version string
}

type versionInfo struct {
	fs.FileInfo

	version string
}

func (i versionInfo) Version() string { return i.version }

type versionFile struct {
	fs.File
	io.ReaderAt

	info versionInfo
}

func (f versionFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (v versions) Stat(name string) (fs.FileInfo, error) {
	info, err := v.MapFS.Stat(name)
	return versionInfo{info, v.version}, err
}

func (v versions) Open(name string) (fs.File, error) {
	f, err := v.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return versionFile{f, f.(io.ReaderAt), versionInfo{info, v.version}}, err
}

func (versions) Glob(string) ([]string, error) { return nil, errUnlisted }

var errUnlisted = errors.New("may not be listed")

// If the file system knows versions, a position belongs to one version, whichever bytes it has.
func TestVersions(t *testing.T) {
	t.Parallel()
	fsys := versions{fstest.MapFS{"a": {Data: []byte("1\n2\n3\n")}}, "v1"}
	read := func(v versions, known lines.Fingerprint) (*lines.Files, error) {
		files := lines.NewFilesOf(v, []string{"a"})
		w := lines.Walk{Options: lines.Options{Layout: lines.Lines}, Take: func(*lines.File, lines.Line) bool { return true }}
		w.Known, w.Longest = known, 1<<10
		return files, files.Read(t.Context(), "a", 2, w)
	}
	files, err := read(fsys, lines.Fingerprint{})
	require.NoError(t, err)
	known := files.Fingerprint("a", 2)
	require.Equal(t, lines.Fingerprint{Version: "v1"}, known)
	_, err = read(fsys, known)
	require.NoError(t, err)

	fsys.version = "v2"
	_, err = read(fsys, known)
	require.ErrorIs(t, err, lines.ErrOtherFile)
	_, err = read(versions{fsys.MapFS, ""}, known)
	require.ErrorIs(t, err, lines.ErrOtherFile)

	_, err = lines.Find(fsys, []string{"*.json"})
	require.ErrorIs(t, err, errUnlisted, "not that nothing was found")
}

// packedForms packs a text as gzip, zstd and zip files.
func packedForms(t *testing.T, text string) map[string]string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	var archive bytes.Buffer
	a := zip.NewWriter(&archive)
	w, err := a.Create("a.jsonl")
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return map[string]string{"a.gz": zipped(t, text), "a.zst": string(z.EncodeAll([]byte(text), nil)), "a.zip": archive.String()}
}

// A packed file that is cut anywhere gives an error and never a panic. If it is checked first, nothing of it is sent.
func TestPackedFilesCutAnywhere(t *testing.T) {
	t.Parallel()
	for name, packed := range packedForms(t, strings.Repeat(`{"a":1}`+"\n", 9)) {
		for _, layout := range []lines.Layout{lines.Lines, lines.Any} {
			for verify, want := range map[int64]string{-1: "file is cut off or damaged", 1 << 20: "file is cut off or damaged, so nothing of it was sent"} {
				for cut := range len(packed) {
					want := want
					if cut < map[string]int{"a.gz": 2, "a.zst": 4, "a.zip": 4}[name] {
						want = fmt.Sprintf("%s: the file has %d bytes, but even an empty packed file has a header", name, cut)
					}
					var got []string
					w := collect(&got)
					w.Verify, w.Layout = verify, layout
					err := lines.NewFiles([]string{write(t, name, packed[:cut])}).Read(t.Context(), "", 0, w)
					require.ErrorContains(t, err, want, "%s cut to %d bytes, verify %d", name, cut, verify)
					assert.True(t, verify < 0 || len(got) == 0)
				}
			}
		}
	}
}

// readText reads a file in a layout, and counts its good and bad records.
func readText(t *testing.T, layout lines.Layout, text string) (good, bad int, err error) {
	t.Helper()
	w := lines.Walk{Options: lines.Options{Layout: layout, Longest: 8 << 20, Verify: 1 << 20}, Take: func(_ *lines.File, l lines.Line) bool {
		if l.Fault != nil || l.Long {
			bad++
		} else {
			good++
		}
		return true
	}}
	return good, bad, lines.NewFiles([]string{write(t, "f", text)}).Read(t.Context(), "", 0, w)
}

// An unclosed quote stops the reading, with the line where it was opened.
func TestOpenQuotes(t *testing.T) {
	t.Parallel()
	rest := strings.Repeat("3,c\n", 900)
	for text, want := range map[string]string{
		"id,v\n1,a\n2,\"b\n" + rest:                                          "line 3: the quote that opens here has no end",
		"id,v\n1,a\n2,\"b\n" + rest + "4":                                    "line 3: the quote that opens here has no end",
		"id,v\n\n1,\"a\nb\"\n\n2,\"b\"\"\n" + rest:                           "line 6: the quote that opens here has no end",
		"id,v\n1,\"a\n\",\"\n":                                               "line 3: the quote that opens here has no end",
		"id,v\n1,\"a\nb\"\n2,\"" + strings.Repeat("b\n", 1000) + "\"\n3,c\n": "line 4: a quote makes one row of 1001 lines",
		"id,v\n1,\"\n" + strings.Repeat("b", 1<<20) + "\"\n3,c\n":            "line 2: a quote makes one row of 2 lines",
		"id,v\n1,\"" + strings.Repeat("b\n", 5<<20) + "\"\n":                 "line 2: ",
		"id,v\r\n1,\"b\r\n2,c\r\n":                                           "line 2: the quote that opens here has no end",
	} {
		_, bad, err := readText(t, lines.CSV, text)
		require.ErrorContains(t, err, want, text[:min(len(text), 40)])
		assert.Zero(t, bad)
		assert.NotContains(t, err.Error(), ",c")
	}
	for text, want := range map[string][2]int{
		"id,v\n1,\"a\"b\n":      {0, 1},
		"id,v\n1,a\"\n":         {0, 1},
		"id,v\n1,\"a\"b\n2,c\n": {1, 1},
		"id,v\n1,\"" + strings.Repeat("b\n", 900) + "\"\n": {1, 0},
		"id,v\n1,\"" + strings.Repeat("b", 2<<20) + "\"\n": {1, 0},
		"id,v\n1,\"a\"": {1, 0},
	} {
		good, bad, err := readText(t, lines.CSV, text)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{good, bad}, text[:min(len(text), 40)])
	}
}

// In any layout, 512 zeros in a record stop the reading; fewer make a bad record.
func TestHoles(t *testing.T) {
	t.Parallel()
	for layout, forms := range map[lines.Layout][]string{
		lines.Lines: {"{\"a\":1}\n{\"a\":%s\n{\"a\":3}\n", "{\"a\":1}\n%s", "{\"a\":1}\n{\"a\"%s", "%s\n{}\n"},
		lines.JSON:  {"{\"a\":1}\n{\"a\":%s\n{\"a\":3}\n", "[{\"a\":1},{\"a\":\"%s\"}]", "{\"a\":1}\n%s", "{\"a\":1}{\"a\":\"%s\"}{}"},
		lines.CSV:   {"a,b\n1,2\n1%s,2\n3,4\n", "a,b\n1,2\n%s", "a,b\n1,\"%s\"\n", "a,b\n1,\"%s\n3,4\n"},
		lines.TSV:   {"a\tb\n1\t2\n1%s\t2\n3\t4\n", "a\tb\n1\t2\n%s"},
	} {
		for _, form := range forms {
			for _, n := range []int{512, 8 << 10, 1 << 20, 9 << 20} {
				_, _, err := readText(t, layout, fmt.Sprintf(form, strings.Repeat("\x00", n)))
				require.ErrorContains(t, err, "zeros in place of text", "%s %q %d", layout, form, n)
			}
		}
	}
	// also at any position in a record that is too long
	for _, before := range []int{0, 9<<20 - 300, 16<<20 - 256, 17 << 20} {
		_, _, err := readText(t, lines.Lines, strings.Repeat("a", before)+strings.Repeat("\x00", 512)+strings.Repeat("a", 9<<20)+"\n")
		require.ErrorContains(t, err, "zeros in place of text", before)
	}
	good, _, err := readText(t, lines.Lines, "{\"a\":1}\n{"+strings.Repeat("\x00", 511)+"}\n{}\n")
	require.NoError(t, err)
	assert.Equal(t, 3, good)
}

// Damage that is found only while a packed file is read stops the reading, with the lines since the last right checksum,
// also lines that an earlier run read.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	const n, size = 900, 5
	line := func(i int) string { return fmt.Sprintf("%04d\n", i) }
	var text strings.Builder
	for i := range n {
		text.WriteString(line(i))
	}
	good := zipped(t, text.String()[:300*size]) + zipped(t, text.String()[300*size:700*size]) + zipped(t, text.String()[700*size:])
	for name, tt := range map[string]struct{ wrong, after, from, to int }{ // lines
		"in the first member":    {100, 0, 0, 300},
		"in the second":          {400, 0, 300, 700},
		"in the last":            {899, 0, 700, n},
		"before the place":       {400, 500, 300, 700},
		"after the place":        {650, 200, 300, 700},
		"all of it read earlier": {899, n, 700, n},
	} {
		path := write(t, "e.gz", strings.Replace(good, line(tt.wrong), "bad!\n", 1))
		for _, limit := range []int64{-1, int64(len(good)) - 1} {
			var got []string
			w := collect(&got)
			w.Verify = limit
			err := lines.NewFiles([]string{path}).Read(t.Context(), map[bool]string{true: "e.gz"}[tt.after > 0], int64(tt.after*size), w)
			require.ErrorContains(t, err, fmt.Sprintf("e.gz: line %d: the gzip file is cut off or damaged: gzip: invalid checksum; "+
				"the lines that end at byte offsets %d to %d were read since the last checksum that is right, and may be wrong",
				tt.to+1, (tt.from+1)*size, tt.to*size), name)
			assert.Len(t, got, tt.to-tt.after, name)
		}
	}
}

// Only the first line of a file can have a byte order mark: it is not taken off the first line that a resumed run reads.
func TestByteOrderMarkAfterAResume(t *testing.T) {
	t.Parallel()
	const mark = "\xef\xbb\xbf"
	content := mark + "a\n" + mark + "b\nc\n"
	for _, path := range []string{write(t, "e", content), write(t, "e", zipped(t, content))} {
		got, err := readFiles(t, path)
		require.NoError(t, err)
		assert.Equal(t, []string{"e@5 a", "e@10 " + mark + "b", "e@12 c"}, got)
		var rest []string
		require.NoError(t, lines.NewFiles([]string{path}).Read(t.Context(), "e", 5, collect(&rest)))
		assert.Equal(t, got[1:], rest)
	}
}

// Zeros after the last member of a gzip file are padding, as gzip itself takes them.
func TestGzipWithPadding(t *testing.T) {
	t.Parallel()
	for _, zeros := range []int{0, 1, 512, 200_000} { // more than a buffer
		padding := strings.Repeat("\x00", zeros)
		path := write(t, "e.gz", zipped(t, "a\n")+padding+zipped(t, "b\n")+padding)
		for _, verify := range []int64{1 << 20, -1} { // before it is read, or while it is read
			var got []string
			w := collect(&got)
			w.Verify = verify
			require.NoError(t, lines.NewFiles([]string{path}).Read(t.Context(), "", 0, w), zeros)
			assert.Equal(t, []string{"e.gz@2 a", "e.gz@4 b"}, got)
		}
	}
}

// recordsOf reads a text in any layout after a position: the records, where they end, and whether the reading failed.
func recordsOf(t *testing.T, text string, after int64) (records []string, ends []int64, failed bool) {
	t.Helper()
	name := map[bool]string{true: "f"}[after > 0]
	err := lines.NewFilesOf(fstest.MapFS{"f": {Data: []byte(text)}}, []string{"f"}).Read(t.Context(), name, after, lines.Walk{
		Options: lines.Options{Layout: lines.Any, Longest: 8 << 20, Verify: 1 << 20},
		Take: func(_ *lines.File, l lines.Line) bool {
			records, ends = append(records, fmt.Sprintf("%s %v", l.Text, l.Fault)), append(ends, l.End)
			return true
		},
	})
	return records, ends, err != nil
}

// FuzzFiles: however bytes are laid out, reading them gives the same records again: packed, and from every position on.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		"", "[", "[]", "{}{}", "a,b\n\"c\n", "[1,2,,3]", "{\"a\":\n1}", "\x00\x00\x00\x00\x00\x00", "{}\n{", "{0", "\xef\xbb\xbf[{}]", "a\tb\nc\td\n", "{\"a\":1}\r\n\r\n{}\n",
		"a;b\n1;2\n\"x\ny\";3\n", "[\n{\"a\":1},\n{\"b\":[2]},\n]\n[]\n[{}]", "{\n  \"a\": 1\n}\n{\n}", "a,b\n1,2\nx\n3,4", "a\tb\r\n1\t2\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, packed := range []string{"\x1f\x8b", "PK", "\x28\xb5\x2f\xfd"} {
			if strings.HasPrefix(string(content), packed) {
				return
			}
		}
		all, ends, failed := recordsOf(t, string(content), 0)
		packed := zipped(t, string(content))
		again, endsAgain, failedAgain := recordsOf(t, packed, 0)
		require.Equal(t, failed, failedAgain)
		require.Equal(t, all, again)
		require.Equal(t, ends, endsAgain)
		for i, end := range ends[:min(len(ends), 20)] {
			for _, text := range []string{string(content), packed} {
				rest, _, restFailed := recordsOf(t, text, end)
				require.Equal(t, failed, restFailed, "after %d", end)
				require.Equal(t, all[i+1:], append([]string{}, rest...), "after %d", end)
			}
		}
	})
}
