// Package parquet reads Parquet files for formats: a row is a record, which is given to a format as a JSON
// object of its columns. It is a separate module, since it needs github.com/parquet-go/parquet-go.
//
//	options := &parquet.Options{Without: posthogexport.Dropped()}
//	source := parquet.Files(posthogexport.Format(nil), options, "export/*.parquet")
//
// Columns become
//
//	texts, enums, JSON            texts
//	numbers, truth values         numbers, true and false; a float without a number is a text such as "NaN"
//	decimals                      texts with all digits
//	timestamps, INT96             texts of RFC 3339 in UTC, also of times without a zone
//	dates                         texts such as 2024-02-29
//	UUIDs                         texts
//	other bytes                   texts where they are UTF-8, else base64
//	groups                        objects
//	lists, repeated columns       arrays
//	maps                          objects with an array key_value
//	nulls                         null
//
// A row with a text that is not UTF-8 is a reject. Every compression within a file can be read, except LZO.
//
// Only the columns of Options are read, a page of each at a time: a file of 1 GiB takes less than 256
// MiB of memory, if its pages have the usual size of about a megabyte. history.Files reads files on a disk; unpack a file
// that was compressed as a whole (.parquet.gz). The name .parquet.zst of PostHog's exports only says how the
// file is compressed inside.
//
// [Rows] reads the files of a batch export for a comparison of rows by the package reconcile, from a folder or a
// bucket. [CountRows] reads the number of rows from a file's footer.
package parquet
