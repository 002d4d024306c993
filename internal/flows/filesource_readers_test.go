package flows_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// tableFormat is a format that reads tables as well as JSON.
var tableFormat = history.Format{
	Name: "table",
	Convert: func(record []byte) ([]hogapi.Event, error) {
		var row struct{ ID, Who, What, At string }
		if err := json.Unmarshal(record, &row); err != nil {
			return nil, err
		}
		at, err := time.Parse(time.RFC3339Nano, row.At)
		if err != nil {
			return nil, err
		}
		if row.What == "skipped" {
			return nil, history.Skip("skipped")
		}
		id, _ := uuid.Parse(row.ID)
		return []hogapi.Event{{Name: row.What, DistinctID: row.Who, Timestamp: at, UUID: id}, {Name: "seen", DistinctID: row.Who, Timestamp: at}}, nil
	},
}

// rowsOf makes rows with an id, a user, a text and a time: some are equal, some have an id, some are bad or skipped.
func rowsOf(n int) [][]string {
	random := rand.New(rand.NewPCG(1, 2))
	var rows [][]string
	at := longAgo
	for i := range n {
		at = at.Add(time.Duration(random.IntN(900)) * time.Millisecond)
		row := []string{"", fmt.Sprint("user ", random.IntN(3)), `said "a, b; c"`, at.Format(time.RFC3339Nano)}
		switch random.IntN(10) {
		case 0:
			row[0] = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i)).String()
		case 1:
			row[2] = "skipped"
		case 2:
			row[3] = "never"
		}
		rows = append(rows, row)
		if random.IntN(3) == 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func jsonRows(rows [][]string) (texts []string) {
	for _, r := range rows {
		texts = append(texts, fmt.Sprintf(`{"at":%q,"id":%q,"what":%q,"who":%q}`, r[3], r[0], r[2], r[1]))
	}
	return texts
}

// layouts are the ways to write rows into a file.
var layouts = map[string]func(rows [][]string) string{
	"lines":        func(rows [][]string) string { return strings.Join(jsonRows(rows), "\n") + "\n" },
	"CRLF":         func(rows [][]string) string { return "\xef\xbb\xbf" + strings.Join(jsonRows(rows), "\r\n") },
	"array":        func(rows [][]string) string { return "[" + strings.Join(jsonRows(rows), ",") + "]" },
	"arrays":       func(rows [][]string) string { return arrays(jsonRows(rows)) },
	"concatenated": func(rows [][]string) string { return strings.Join(jsonRows(rows), "") },
	"indented": func(rows [][]string) string {
		var b bytes.Buffer
		for _, text := range jsonRows(rows) {
			_ = json.Indent(&b, []byte(text), "", "  ")
			b.WriteByte('\n')
		}
		return b.String()
	},
	"indented array": func(rows [][]string) string {
		var b bytes.Buffer
		_ = json.Indent(&b, []byte("["+strings.Join(jsonRows(rows), ",")+"]"), "", "\t")
		return "\xef\xbb\xbf" + b.String()
	},
	"CSV":             func(rows [][]string) string { return csvOf(',', rows) },
	"CSV, semicolons": func(rows [][]string) string { return "\xef\xbb\xbf" + csvOf(';', rows) },
	"TSV":             func(rows [][]string) string { return tsvOf(rows) },
	"CSV without end": func(rows [][]string) string { return strings.TrimSpace(csvOf(',', rows)) },
	"TSV with CRLF":   func(rows [][]string) string { return strings.ReplaceAll(tsvOf(rows), "\n", "\r\n") },
	"lines, spaced": func(rows [][]string) string {
		return strings.ReplaceAll(strings.Join(jsonRows(rows), "\n\n"), `","`, `" , "`)
	},
	"lines, no end":    func(rows [][]string) string { return strings.Join(jsonRows(rows), "\n") },
	"array with comma": func(rows [][]string) string { return "[\n" + strings.Join(jsonRows(rows), ",\n") + ",\n]\n" },
}

func arrays(texts []string) string {
	half := len(texts) / 2
	return "[" + strings.Join(texts[:half], ",") + "]\n[]\n[" + strings.Join(texts[half:], " , ") + "]"
}

func csvOf(comma rune, rows [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = comma
	_ = w.Write([]string{"id", "who", "what", "at"})
	_ = w.WriteAll(rows)
	return b.String()
}

func tsvOf(rows [][]string) string {
	var b strings.Builder
	b.WriteString("id\twho\twhat\tat\n")
	for _, r := range rows {
		b.WriteString(strings.Join(r, "\t") + "\n")
	}
	return b.String()
}

// packings are the ways to pack a text.
var packings = map[string]func(t testing.TB, text string) string{
	"plain": func(_ testing.TB, text string) string { return text },
	"gzip":  func(_ testing.TB, text string) string { return zipped(text) },
	"zstd":  zstdOf,
	"zip":   func(t testing.TB, text string) string { return zipOf(t, map[string]string{"a/b.json": text}) },
	"zip of gzip": func(t testing.TB, text string) string {
		return zipOf(t, map[string]string{"a/9#1.json.gz": zipped(text), "__MACOSX/x": "rubbish", "a/": ""})
	},
}

func zstdOf(t testing.TB, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return string(z.EncodeAll([]byte(text), nil))
}

func zipOf(t testing.TB, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range members {
		w, err := z.Create(name)
		require.NoError(t, err)
		if !strings.HasSuffix(name, "/") {
			_, err = w.Write([]byte(text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	return b.String()
}

// twins is a zip file with two members of one name.
func twins(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for range 2 {
		_, err := z.Create("same")
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// described returns the events of a source after a position as text, and their positions.
func described(t testing.TB, source history.Source, after hogapi.Position) (events []string, positions []hogapi.Position) {
	t.Helper()
	for ev, err := range source.Events(t.Context(), after) {
		require.NoError(t, err)
		events = append(events, fmt.Sprint(ev.Name, ev.DistinctID, ev.Timestamp, ev.UUID, ev.Origin))
		positions = append(positions, ev.Position)
	}
	return events, positions
}

// However records are laid out and packed, they are the same events with the same uuids, and from every position on the rest comes.
func TestFormatsOfFiles(t *testing.T) {
	t.Parallel()
	rows := rowsOf(60)
	want, _ := described(t, history.Files(tableFormat, writeFile(t, "rows", layouts["lines"](rows))), hogapi.Position{})
	require.Greater(t, len(want), 100)
	for layout, write := range layouts {
		for packing, pack := range packings {
			t.Run(layout+" "+packing, func(t *testing.T) {
				t.Parallel()
				path := writeFile(t, "some.data", pack(t, write(rows)))
				source := history.Files(tableFormat, path)
				got, positions := described(t, source, hogapi.Position{})
				require.Equal(t, want, got)
				for i, p := range positions {
					if i+1 < len(positions) && positions[i+1] == p {
						continue
					}
					rest, _ := described(t, source, p)
					require.Equal(t, want[i+1:], append([]string{}, rest...), "after %s", p)
				}
				content := readFile(t, path)
				fsys := fstest.MapFS{"x/y.bin": {Data: content}}
				got, _ = described(t, history.FilesFS(fsys, tableFormat, "x/*"), hogapi.Position{})
				require.Equal(t, want, got, "on another file system")
			})
		}
	}
}

// Files of one name in several folders are told apart, and patterns find files by number.
func TestFilesByPattern(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	var rows [][]string
	for i := range 12 {
		row := []string{"", "ann", fmt.Sprint("event ", i), longAgo.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)}
		rows = append(rows, row)
		write(fmt.Sprintf("day=%d/part.json", i), layouts["lines"](rows))
	}
	source := history.Files(tableFormat, filepath.Join(folder, "day=*", "*.json"))
	assert.Contains(t, source.Name(), "day=0/part.json … day=11/part.json (12 files")
	server := hogapitest.New()
	receipt := imported(t, server.Client(t), source, &history.Options{ID: "x", Rate: hogapi.RateUnlimited})
	assert.EqualValues(t, 2*(12*13/2), receipt.Acknowledged)
	assert.Equal(t, 2*12, server.Ledger().Unique())

	for _, pattern := range []string{"none*.json", "[", "missing.json"} {
		_, err := history.Import(t.Context(), server.Client(t), history.Files(tableFormat, filepath.Join(folder, pattern)), &history.Options{ID: "x"})
		require.Error(t, err, pattern)
		assert.Contains(t, err.Error(), pattern)
	}
}

// A file that cannot be read to its end stops the import with an error that says why, where, and how to continue.
func TestFilesThatStopAnImport(t *testing.T) {
	t.Parallel()
	rows := rowsOf(400)
	lines, array, csv := layouts["lines"](rows), layouts["array"](rows), layouts["CSV"](rows)
	flipped := []byte(zipOf(t, map[string]string{"m.json": lines}))
	flipped[len(flipped)/3] ^= 0xff
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"array cut between elements": {array[:strings.LastIndex(array, "},")+1], []string{"record ", "the array has no end", "cut off"}},
		"array cut in an element":    {array[:len(array)-20], []string{"record ", "has no end", "get it again"}},
		"array damaged":              {"[{},{}}]", []string{"record 3", "not JSON"}},
		"concatenated and cut":       {layouts["concatenated"](rows)[:5000], []string{"record ", "has no end"}},
		"another text after it":      {array + "more", []string{"not JSON", "an array"}},
		"gzip cut":                   {zipped(lines)[:900], []string{"gzip file is cut off", "nothing of it was sent"}},
		"zip damaged":                {string(flipped), []string{"m.json", "zip file is cut off or damaged", "nothing of it was sent"}},
		"zip in zip":                 {zipOf(t, map[string]string{"a.zip": zipOf(t, map[string]string{"b": lines})}), []string{"a.zip", "zip file inside another"}},
		"CSV that ends in a quote":   {csv + `"x,y`, []string{"line ", "quote"}},
		"CSV that ends in a row":     {csv + "x,y", []string{"last row is not finished"}},
		"CSV with a broken header":   {"a\"b,c\nd,e\n", []string{"the header", "not CSV"}},
		"lines with a hole":          {lines + strings.Repeat("\x00", 20<<20), []string{"line ", "zeros", "get it again"}},
		"a zip file with twins":      {twins(t), []string{"two members"}},
		"Parquet":                    {"PAR1....", []string{"Parquet"}},
		"UTF-16":                     {"\xff\xfe{\x00", []string{"UTF-16"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			_, err := history.Import(t.Context(), server.Client(t), history.Files(tableFormat, writeFile(t, "some.data", tt.content)), &history.Options{
				ID: "x", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Rejects: history.RejectFile(filepath.Join(t.TempDir(), "rejects")),
			})
			assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
			for _, want := range append(tt.want, "some.data") {
				assert.ErrorContains(t, err, want)
			}
		})
	}
	for want, content := range map[string]string{"looks like CSV": csv, "HTML": "<html>", "JSON": "rubbish"} {
		onlyJSON := tableFormat
		onlyJSON.Layout = history.LayoutJSON
		_, err := history.Check(t.Context(), history.Files(onlyJSON, writeFile(t, "x", content)), &history.Options{ID: "x"})
		require.ErrorContains(t, err, want)
	}
}

// A sparse file of 30 GB costs neither its size in time nor in memory, with any beginning.
func TestSparseFiles(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"nothing": "", "lines": layouts["lines"](rowsOf(5)), "a line": `{"id":"`, "CSV": layouts["CSV"](rowsOf(5)), "array": "[{}", "a quote": "a,b\n\"c"} {
		path := writeFile(t, "sparse.data", begin)
		if err := os.Truncate(path, 30<<30); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		files := &countedFS{FS: os.DirFS(filepath.Dir(path))}
		_, err := history.Check(t.Context(), history.FilesFS(files, tableFormat, filepath.Base(path)), &history.Options{ID: "x", MaxRejectShare: -1})
		require.ErrorContains(t, err, "sparse.data", name)
		require.ErrorContains(t, err, "zeros", name)
		assert.Less(t, files.read.Load(), int64(256<<20), name)
		require.NoError(t, os.Remove(path))
	}
}

// countedFS counts the bytes that are read from its files.
type countedFS struct {
	fs.FS

	read atomic.Int64
}

func (c *countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f.(*os.File), &c.read}, nil
}

type countedFile struct {
	*os.File

	count *atomic.Int64
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.count.Add(int64(n))
	return n, err
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.count.Add(int64(n))
	return n, err
}

// A bad row or value does no harm to the others, and is a reject that names its line or its number.
func TestBadRecords(t *testing.T) {
	t.Parallel()
	good := []string{"", "ann", "e", "2024-05-01T12:00:00Z"}
	object := jsonRows([][]string{good})[0]
	header := "id,who,what,at\n"
	row := strings.Join(good, ",") + "\n"
	for name, tt := range map[string]struct{ content, where, want string }{
		"line":          {object + "\n{\"a\":\n" + object + "\n", "f:2", "unexpected end of JSON"},
		"first line":    {"{\"a\":\n" + object + "\n" + object + "\n", "f:1", "unexpected end of JSON"},
		"array":         {"[" + object + ",{]," + object + "]", "f, record 2", "invalid character"},
		"scalar":        {"[" + object + ",12," + object + "]", "f, record 2", "cannot unmarshal"},
		"too long":      {"[" + object + `,"` + strings.Repeat("x", 9<<20) + `",` + object + "]", "f, record 2", "at most 8388608"},
		"too long line": {object + "\n" + strings.Repeat("x", 9<<20) + "\n" + object, "f:2", "at most 8388608"},
		"short row":     {header + row + "a,b\n" + row, "f:3", "2 fields, and the table 4 columns"},
		"bare quote":    {header + row + "a,b\"c,d,e\n" + row, "f:3", "not CSV"},
		"not UTF-8":     {header + "\"\n\",b,e,x\n\n" + row + "a,b\xff,c,d\n" + row, "f:2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rejects []hogapi.Reject
			server := hogapitest.New()
			receipt := imported(t, server.Client(t), history.Files(tableFormat, writeFile(t, "f", tt.content)), &history.Options{
				ID: "x", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Rejects: keepRejects(&rejects),
			})
			assert.EqualValues(t, 4, receipt.Acknowledged)
			require.NotEmpty(t, rejects)
			assert.Equal(t, tt.where, rejects[0].Where)
			require.ErrorContains(t, rejects[0].Err, tt.want)
		})
	}
}
