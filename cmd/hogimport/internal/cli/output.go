package cli

import (
	"bytes"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

func reportAt(path, kind string) shell.Output {
	return shell.Output{Flag: "--report", Path: path, Kind: "page of hogimport " + kind, IsOurs: func(begin []byte) bool {
		_, title, _ := bytes.Cut(begin, []byte("<title>"))
		title, _, _ = bytes.Cut(title, []byte("</title>"))
		return bytes.HasPrefix(begin, []byte("<!DOCTYPE html>")) && bytes.HasSuffix(title, []byte(" – hogimport")) &&
			bytes.HasPrefix(title, []byte(map[string]string{"check": "Check: ", "verify": "Verification: "}[kind]))
	}}
}

func listAt(path string) shell.Output {
	return shell.Output{Flag: "--left-out", Path: path, Kind: "list of records that are left out", IsOurs: func(begin []byte) bool {
		return bytes.HasPrefix(begin, []byte(leftOutStart))
	}}
}
