package cli

import (
	"bytes"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

func reportAt(path, command string) shell.Output {
	return shell.PageAt(path, "hogimport", command, map[string]string{"check": "Check", "verify": "Verification"}[command])
}

func listAt(path string) shell.Output {
	return shell.Output{Flag: "--left-out", Path: path, Kind: "list of records that are left out", IsOurs: func(begin []byte) bool {
		return bytes.HasPrefix(begin, []byte(leftOutStart))
	}}
}
