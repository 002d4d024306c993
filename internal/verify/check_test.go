package verify

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// A Config that cannot be compared is refused before anything is asked.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, change := range map[string]func(*Config){
		"receipt.ID":              func(c *Config) { c.ID = "" },
		"receipt.Days":            func(c *Config) { c.Unconfirmed++ },
		"receipt.Days ":           func(c *Config) { c.Rows[1].Acknowledged-- },
		"receipt.Days  ":          func(c *Config) { c.Rows[1].Unconfirmed = 2 },
		"receipt.Oldest":          func(c *Config) { c.Oldest = time.Time{} },
		"receipt.Oldest ":         func(c *Config) { c.Oldest = c.Newest.Add(1) },
		"VerifyOptions.EveryUUID": func(c *Config) { c.EveryUUID, c.Source = true, nil },
		"VerifyOptions.Patience":  func(c *Config) { c.Patience = -1 },
		"VerifyOptions.Rejects":   func(c *Config) { c.Rejects = []string{empty, dir} },
		"VerifyOptions.Source":    func(c *Config) { c.Files = []string{empty, filepath.Join(dir, "none.jsonl")} },
		"":                        func(c *Config) { c.Rejects, c.Files = []string{empty}, []string{empty} },
	} {
		c, p := importOf(sent(20))
		change(&c)
		_, err := Verify(t.Context(), c)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		unfit := new(ops.InputError)
		require.ErrorAs(t, err, &unfit, want)
		assert.Contains(t, want, unfit.Field)
		if want == "receipt.Days  " {
			assert.Equal(t, "22", unfit.Value, "the unconfirmed events are of the rows too")
		}
		assert.NotContains(t, unfit.Error(), dir)
		assert.Empty(t, p.asked)
	}
}

func TestProgressInWords(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Progress{
		"look 1: count 2 of 3, seen 4 of 5":      {Look: 1, Step: "count", Done: 2, Total: 3, Seen: 4, Acked: 5},
		"look 2: read the source 7, seen 4 of 5": {Look: 2, Step: "read the source", Done: 7, Seen: 4, Acked: 5},
		"look 2: wait, seen 4 of 5, again at 01:02:03 UTC": {
			Look: 2, Step: "wait", Seen: 4, Acked: 5, NextLook: march.Add(time.Hour + 2*time.Minute + 3*time.Second),
		},
	} {
		assert.Equal(t, want, p.String())
	}
}
