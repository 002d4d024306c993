package formattest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// RequireStable checks the events of a record between two others: they are the same in lines, in an
// array, packed, and where the file is divided at any boundary of records.
func RequireStable(t *testing.T, format hogapi.Format, first, record, last []byte) {
	t.Helper()
	var compact bytes.Buffer
	if json.Compact(&compact, record) != nil || compact.Bytes()[0] != '{' || isSame(record, first) || isSame(record, last) {
		return // no record of a file, or one that is there twice: in another file that is the same event
	}
	records := [][]byte{first, compact.Bytes(), last}
	lines := append(bytes.Join(records, []byte("\n")), '\n')
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(lines)
	require.NoError(t, errors.Join(err, z.Close()))
	array := fmt.Appendf(nil, "[%s]", bytes.Join(records, []byte(",\n")))
	one := len(first) + 1
	two := one + compact.Len() + 1
	want := roots(t, format, lines)
	for name, files := range map[string][][]byte{
		"gzip": {packed.Bytes()}, "array": {array}, "after the first": {lines[:one], lines[one:]},
		"before the last": {lines[:two], lines[two:]}, "one by one": {lines[:one], lines[one:two], lines[two:]},
	} {
		require.Equal(t, want, roots(t, format, files...), name)
	}
}

// isSame reports whether a record is another one, however it is written.
func isSame(record, other []byte) bool {
	a, err := jsonb.Canonical(nil, record)
	b, otherErr := jsonb.Canonical(nil, other)
	return err != nil || otherErr != nil || bytes.Equal(a, b)
}

// roots are the events of the files, and the places from which uuids are made.
func roots(t *testing.T, format hogapi.Format, files ...[]byte) (roots []string) {
	t.Helper()
	fsys := fstest.MapFS{}
	for i, content := range files {
		fsys[fmt.Sprintf("f%d", i)] = &fstest.MapFile{Data: content}
	}
	for ev, err := range hogapi.FileSourceFS(fsys, format, "f*").Events(t.Context(), hogapi.Position{}) {
		roots = append(roots, fmt.Sprint(ev.UUID, ev.Origin, ev.Name, ev.DistinctID, ev.Timestamp, string(ev.RawProperties), err != nil))
	}
	return roots
}
