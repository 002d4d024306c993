package shell

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/errtext"
)

// Output is a file that a command writes to the path that a person gives.
type Output struct {
	Flag, Path string
	Kind       string
	IsOurs     func(begin []byte) bool // of an earlier output of the kind
}

// Check refuses to replace a file that is not an earlier output of the same kind, or that is an input: in
// "--report export/*", a shell replaces the pattern by files of the export.
func (o Output) Check(inputs []string) error {
	info, err := os.Stat(o.Path)
	if err != nil {
		return nil //nolint:nilerr // no path is given, or what is wrong with it shows when it is written
	}
	if slices.ContainsFunc(inputs, func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	}) {
		return UsageError(o.Path+" is one of the input files", "give "+o.Flag+" another FILE")
	}
	if info.Mode().IsRegular() { // a pipe would wait for a writer
		begin, err := beginOf(o.Path)
		switch {
		case info.Size() == 0, err == nil && o.IsOurs(begin):
			return nil
		case err != nil:
			return UsageError(fmt.Sprintf("%s exists and cannot be read: %v", o.Path, Cause(err)), "give "+o.Flag+" another FILE")
		}
	}
	return UsageError(o.Path+" exists and is not a "+o.Kind, "give "+o.Flag+" another FILE, or remove the existing one")
}

// Free returns the flag and the path for a suggested command. The path gets a number if another file has it
// already.
func (o Output) Free(inputs []string) string {
	end := filepath.Ext(o.Path)
	name := strings.TrimSuffix(o.Path, end)
	for number := 2; o.Check(inputs) != nil; number++ {
		o.Path = fmt.Sprintf("%s-%d%s", name, number, end)
	}
	return " " + o.Flag + " " + Quoted(o.Path)
}

// FileName returns a text as a name that every file system takes, or the other name if nothing is left of it.
func FileName(text string, longest int, other string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, text)
	return cmp.Or(strings.Trim(name[:min(len(name), longest)], "-."), other)
}

func beginOf(path string) ([]byte, error) {
	const enough = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, enough))
}

// PageAt returns the output for a page of --report. Its kind is that in the title, such as "Check".
func PageAt(path, program, command, kind string) Output {
	return Output{"--report", path, "page of " + program + " " + command, func(begin []byte) bool {
		_, title, _ := bytes.Cut(begin, []byte("<title>"))
		title, _, _ = bytes.Cut(title, []byte("</title>"))
		return bytes.HasPrefix(begin, []byte("<!DOCTYPE html>")) && bytes.HasPrefix(title, []byte(kind+": ")) && bytes.HasSuffix(title, []byte(" – "+program))
	}}
}

// Cause returns an error of the file system without the path, which the text has already.
func Cause(err error) error {
	if f, ok := errors.AsType[*Fault](err); ok {
		err = f.Err
	}
	return errtext.Pathless(err)
}

const isWindows = runtime.GOOS == "windows"

// Quoted returns a word as a shell reads it: a POSIX shell, or on Windows cmd.exe and PowerShell.
func Quoted(word string) string {
	isPlain := func(r rune) bool {
		return strings.ContainsRune("-_./=:@%+,*", r) || isWindows && r == '\\' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	isBare := word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !isPlain(r) })
	switch {
	case isWindows && !isBare:
		return `"` + strings.ReplaceAll(term.Line(word), `"`, `""`) + `"`
	case term.Line(word) != word: // it cannot be shown as it is
		var b strings.Builder
		for _, c := range []byte(word) {
			if c < utf8.RuneSelf && (isPlain(rune(c)) || c == ' ') {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		return "$'" + b.String() + "'"
	case isBare:
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
