package formats

import "github.com/hogapi/hogapi/history"

// KeepNulls returns a format that reads NULL, null, [NULL], (null) and \N in tables as texts. By default they are NULLs:
// the column is empty. In quotes only \N is one.
func KeepNulls(format history.Format) history.Format {
	const keep = "NULLs are texts"
	if format.Options != "" {
		format.Options += "; "
	}
	format.Options += keep
	format.KeepNulls = true
	return format
}
