package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// output is a file that a command writes to the path that a person gives.
type output struct {
	flag, path string
	kind       string
	isOurs     func(begin []byte) bool // of an earlier output of the kind
}

func reportAt(path, kind string) output {
	return output{"--report", path, "page of hogimport " + kind, func(begin []byte) bool {
		_, title, _ := bytes.Cut(begin, []byte("<title>"))
		title, _, _ = bytes.Cut(title, []byte("</title>"))
		return bytes.HasPrefix(begin, []byte("<!DOCTYPE html>")) && bytes.HasSuffix(title, []byte(" – hogimport")) &&
			bytes.HasPrefix(title, []byte(map[string]string{"check": "Check: ", "verify": "Verification: "}[kind]))
	}}
}

func listAt(path string) output {
	return output{"--left-out", path, "list of records that are left out", func(begin []byte) bool {
		return bytes.HasPrefix(begin, []byte(leftOutStart))
	}}
}

// check refuses to replace a file that is not an earlier output of the same kind, or that is an input: in
// "--report export/*", a shell replaces the pattern by files of the export.
func (o output) check(inputs []string) error {
	info, err := os.Stat(o.path)
	if err != nil {
		return nil //nolint:nilerr // no path is given, or what is wrong with it shows when it is written
	}
	if slices.ContainsFunc(inputs, func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	}) {
		return usageError(o.path+" is one of the files that are read", "give "+o.flag+" another FILE")
	}
	if info.Mode().IsRegular() && (info.Size() == 0 || o.isOurs(beginOf(o.path))) {
		return nil
	}
	return usageError(o.path+" is there already, and it is no "+o.kind, "give "+o.flag+" another FILE, or remove that one")
}

// free returns the flag and the path for a suggested command. The path gets a number if another file has it
// already.
func (o output) free(inputs []string) string {
	end := filepath.Ext(o.path)
	name := strings.TrimSuffix(o.path, end)
	for number := 2; o.check(inputs) != nil; number++ {
		o.path = fmt.Sprintf("%s-%d%s", name, number, end)
	}
	return " " + o.flag + " " + quoted(o.path)
}

func beginOf(path string) []byte {
	const enough = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	begin, _ := io.ReadAll(io.LimitReader(f, enough))
	return begin
}
