package demo

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// exported is a row of an export, with the columns that an import reads.
type exported struct {
	UUID          string          `json:"uuid" parquet:"uuid"`
	Event         string          `json:"event" parquet:"event"`
	DistinctID    string          `json:"distinct_id" parquet:"distinct_id"`
	RawProperties json.RawMessage `json:"properties" parquet:"-"`
	Properties    string          `json:"-" parquet:"properties"`
	ElementsChain string          `json:"elements_chain" parquet:"elements_chain"`
	Timestamp     time.Time       `json:"timestamp" parquet:"timestamp,timestamp(microsecond)"`
}

// Parquet writes lines of JSON as a file of Parquet, as the service does: for hogapitest.WithParquet.
func Parquet(lines []byte, codec string) []byte {
	var file bytes.Buffer
	var how compress.Codec = &parquet.Uncompressed
	if codec == "zstd" {
		how = &parquet.Zstd
	}
	w := parquet.NewGenericWriter[exported](&file, parquet.Compression(how))
	for decoder := json.NewDecoder(bytes.NewReader(lines)); decoder.More(); {
		var row exported
		err := decoder.Decode(&row)
		if err == nil {
			row.Properties = string(row.RawProperties)
			_, err = w.Write([]exported{row})
		}
		if err != nil {
			panic(err) // a line of the fake
		}
	}
	if err := w.Close(); err != nil {
		panic(err) // to memory
	}
	return file.Bytes()
}
