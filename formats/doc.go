// Package formats serves the formats of all vendors: it sorts the events of files by time, and
// makes the links between the ids of a person. The formats themselves are in the folders below, a
// package each; [generic] reads any table by a map of its columns.
//
//	source := formats.Sorted(hogapi.FileSource(amplitude.Format(nil), "export.zip"), "work")
//	receipt, err := client.Import(ctx, hogapi.Concat(formats.Links(source), source), options)
//
// [generic]: https://pkg.go.dev/github.com/hogapi/hogapi/formats/generic
package formats
