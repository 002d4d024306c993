package parquet

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hogapi/hogapi/internal/mask"
)

// CountRows returns the number of rows that the footer of a Parquet file says. It reads the last 16 KiB of the file,
// and more only if the footer is longer: of a bucket, one request. It does not show that the rows can be read.
func CountRows(fsys fs.FS, name string) (rows int64, err error) {
	defer func() {
		if err != nil {
			rows, err = 0, fmt.Errorf("parquet: %s: %w", mask.Shown(name), err)
		}
	}()
	defer caught(&err)
	disk, err := openStorage(fsys, name)
	if err != nil {
		return 0, err
	}
	defer disk.close()
	footer, err := disk.footer()
	if err != nil {
		return 0, err
	}
	var says format.FileMetaData
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, &says); err != nil {
		return 0, fmt.Errorf("its footer cannot be read: %w", err)
	}
	for i := range says.RowGroups {
		group := &says.RowGroups[i]
		rows += group.NumRows
		for c := range group.Columns {
			data := group.Columns[c].MetaData
			if data.DataPageOffset+data.TotalCompressedSize > disk.size {
				return 0, errors.New("its columns end after its end: it was cut off or is damaged")
			}
		}
	}
	if rows != says.NumRows || rows < 0 {
		return 0, fmt.Errorf("its footer contradicts itself: %d rows, and %d in its row groups", says.NumRows, rows)
	}
	return rows, nil
}
