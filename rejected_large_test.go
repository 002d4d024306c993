package hogapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A record that is too large is a reject, as a whole or with the place of the original, and stays so until it is corrected.
func TestRejectsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	record := func(n int) string { return fmt.Sprintf(`{"id":%d,"more":%q}`, n, strings.Repeat("\"", n)) }
	sizes := []int{3 << 19, 5 << 20, 17 << 19} // 3, 10 and 17 MiB of text
	var plain, packed bytes.Buffer
	for _, n := range sizes {
		plain.WriteString(record(n) + "\n")
	}
	w := gzip.NewWriter(&packed)
	_, err := w.Write(plain.Bytes())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	fails := func([]byte) ([]hogapi.Event, error) { return nil, errors.New("not yet") }
	converts := func(record []byte) ([]hogapi.Event, error) {
		var of struct{ ID int }
		if err := json.Unmarshal(record, &of); err != nil {
			return nil, err
		}
		return []hogapi.Event{{Name: "e", DistinctID: fmt.Sprint(of.ID), Timestamp: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}}, nil
	}
	for name, content := range map[string][]byte{"e.json": plain.Bytes(), "e.json.gz": packed.Bytes()} {
		folder := t.TempDir()
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, content, 0o600))
		server := hogapitest.New()
		run := func(id string, source hogapi.Source) (hogapi.Receipt, string) {
			path := filepath.Join(folder, id)
			receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: id, MaxRejectShare: -1, Rejects: hogapi.RejectFile(path)})
			require.NoError(t, err)
			return receipt, path
		}
		receipt, path := run("first", hogapi.FileSource(hogapi.Format{Name: "own", Convert: fails}, file))
		require.EqualValues(t, 3, receipt.Rejected)
		again, second := run("second", hogapi.RejectedRecords(path, fails))
		require.EqualValues(t, 3, again.Rejected)
		text, err := os.ReadFile(second)
		require.NoError(t, err)
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var of struct {
				Reject struct {
					Raw      string
					Original struct{ File string }
				} `json:"$reject"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &of))
			if i < 2 {
				assert.True(t, of.Reject.Raw == record(sizes[i]), "%s: record %d has %d bytes", name, i, len(of.Reject.Raw))
			} else {
				assert.Equal(t, file, of.Reject.Original.File)
			}
		}
		corrected, _ := run("corrected", hogapi.RejectedRecords(second, converts))
		assert.EqualValues(t, 3, corrected.Acknowledged, name)
		assert.Equal(t, 3, server.Ledger().Unique())

		require.NoError(t, os.WriteFile(file, content[:len(content)/2], 0o600))
		gone, third := run("gone", hogapi.RejectedRecords(second, converts))
		assert.EqualValues(t, []int64{2, 1}, []int64{gone.Acknowledged, gone.Rejected}, name)
		text, err = os.ReadFile(third)
		require.NoError(t, err)
		assert.Contains(t, string(text), "cannot be read there")
	}
}
