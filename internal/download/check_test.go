package download

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCheckNames(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"", ".parquet", ".jsonl.gz", ".parts"} {
		assert.Nil(t, CheckNames("folder", extension), extension)
	}
	for _, extension := range []string{"parquet", ".", "./a", ".a b", ".part", ".x.PART.size", ".tmp", ".hogapi-tmp", ".lock"} {
		assert.NotNil(t, CheckNames("folder", extension), extension)
	}
	assert.NotNil(t, CheckNames("", ""))
}

func TestCheckProgress(t *testing.T) {
	t.Parallel()
	for _, p := range []Progress{{}, {At: 5}, {At: 5, Size: -1}, {At: 5, Size: 5}} {
		assert.Nil(t, p.Check(), "%v", p)
	}
	assert.Equal(t, "Offset", Progress{At: -1}.Check().Field)
	assert.Equal(t, "Size", Progress{At: 5, Size: 4}.Check().Field)
}

func TestCheckInterval(t *testing.T) {
	t.Parallel()
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, end := range []time.Time{{}, day, day.AddDate(0, 0, 7)} {
		assert.Nil(t, CheckInterval(day, end), "%v", end)
	}
	assert.Nil(t, CheckInterval(time.Time{}, day))
	for _, end := range []time.Time{day.Add(-1), day.AddDate(0, 0, 7).Add(1)} {
		assert.NotNil(t, CheckInterval(day, end), "%v", end)
	}
}
