package shell

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/errtext"
)

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
