package parquet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/warehouse"
)

// page is a row of Segment's table pages in a warehouse.
type page struct {
	ID          string    `parquet:"id"`
	AnonymousID string    `parquet:"anonymous_id"`
	UserID      *string   `parquet:"user_id,optional"`
	URL         string    `parquet:"url"`
	Width       int64     `parquet:"context_screen_width"`
	Timestamp   time.Time `parquet:"timestamp,timestamp(microsecond)"`
}

// A table of a warehouse makes the same events as Parquet and as CSV.
func TestWarehouse(t *testing.T) {
	t.Parallel()
	user := "u-1"
	at := time.Date(2024, 2, 29, 23, 59, 58, 12_000_000, time.UTC)
	rows := []page{{"p-1", "a-1", nil, "https://shop.example/", 1440, at}, {"p-2", "a-1", &user, "https://shop.example/cart", 390, at.Add(time.Minute)}}
	path := filepath.Join(t.TempDir(), "pages.csv")
	require.NoError(t, os.WriteFile(path, []byte("id,anonymous_id,user_id,url,context_screen_width,timestamp\n"+
		"p-1,a-1,,https://shop.example/,1440,2024-02-29 23:59:58.012\np-2,a-1,u-1,https://shop.example/cart,390,2024-03-01 00:00:58.012\n"), 0o600))
	texts := eventsOf(t, hogapi.FileSource(warehouse.Segment(nil, nil), path), hogapi.Position{})
	typed := eventsOf(t, parquet.FileSource(warehouse.Segment(nil, nil), nil, writeParquet(t, "pages.parquet", rows, 1)), hogapi.Position{})
	require.Len(t, typed, 2)
	for i, ev := range typed {
		assert.Equal(t, texts[i].UUID, ev.UUID)
		assert.Equal(t, texts[i].Timestamp, ev.Timestamp)
		assert.Equal(t, []string{texts[i].Name, texts[i].DistinctID, texts[i].AnonymousID}, []string{ev.Name, ev.DistinctID, ev.AnonymousID})
		assert.JSONEq(t, string(texts[i].RawProperties), string(ev.RawProperties))
	}
}
