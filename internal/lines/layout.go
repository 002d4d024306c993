package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Layout is the way in which a text is divided into records.
type Layout string

// Layouts.
const (
	Any   Layout = ""      // detect JSON, CSV or TSV
	Lines Layout = "lines" // with any content
	JSON  Layout = "json"  // lines, a sequence of values, or arrays
	CSV   Layout = "csv"
	TSV   Layout = "tsv"

	jsonValues Layout = "values"
	jsonArrays Layout = "arrays"
	semicolons Layout = "semicolons"
)

// of detects the layout of a text from its head; whole says that the head is the entire text.
// Whitespace and a byte order mark before the first record do not matter.
func (l Layout) of(head []byte, whole bool) (Layout, error) {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \t\r\n")
	isJSON := len(head) == 0 || head[0] == '{' || head[0] == '['
	switch {
	case l == Any && isJSON:
		l = JSON
	case l == Any:
		l = CSV
		if first, _, _ := bytes.Cut(head, []byte{'\n'}); bytes.Count(first, []byte{'\t'}) > max(bytes.Count(first, []byte{','}), bytes.Count(first, []byte{';'})) {
			l = TSV
		}
	}
	switch {
	case l != JSON && isMarkup(head):
		return l, errors.New("the file is not a table" + hintOf(head))
	case l == JSON && !isJSON:
		return l, errors.New("the file is not JSON, which begins with { or [" + hintOf(head))
	case l == JSON:
		return jsonLayout(head, whole), nil
	case l == CSV && isJSON && len(head) > 0:
		return l, errors.New("the file is not CSV: it begins as JSON does")
	case l == CSV:
		if first, _, _ := bytes.Cut(head, []byte{'\n'}); bytes.Count(first, []byte{';'}) > bytes.Count(first, []byte{','}) {
			return semicolons, nil
		}
	}
	return l, nil
}

func hintOf(head []byte) string {
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	switch {
	case bytes.HasPrefix(head, []byte("<")):
		return ": this is HTML or XML, perhaps an error page that was saved in place of the file"
	case bytes.ContainsAny(first, ",;\t"):
		return ": this looks like CSV, which another format reads"
	}
	return ""
}

func isMarkup(head []byte) bool {
	const longest = 9
	begin := strings.ToLower(string(head[:min(len(head), longest)]))
	return slices.ContainsFunc([]string{"<!doctype", "<html", "<?xml", "<error", "<head"}, func(tag string) bool { return strings.HasPrefix(begin, tag) })
}

// hintOfEnds explains a header that spans more than one line.
func hintOfEnds(columns []string) string {
	if slices.ContainsFunc(columns, func(name string) bool { return strings.Contains(name, "\r") }) {
		return "; its lines end with CR alone: convert them to LF"
	}
	return ""
}

// jsonLayout distinguishes values one a line, other sequences of values, and arrays. A damaged
// first line followed by others still counts as lines.
func jsonLayout(head []byte, whole bool) Layout {
	if len(head) > 0 && head[0] == '[' {
		return jsonArrays
	}
	first, rest, ended := bytes.Cut(head, []byte{'\n'})
	d := json.NewDecoder(bytes.NewReader(first))
	var value json.RawMessage
	err := d.Decode(&value)
	second := bytes.TrimLeft(rest, " \t\r\n")
	switch {
	case err == nil && bytes.HasPrefix(bytes.TrimLeft(first[d.InputOffset():], " \t"), []byte{'{'}):
		return jsonValues
	case errors.Is(err, io.ErrUnexpectedEOF) && ended && len(second) > 0 && second[0] != '{':
		return jsonValues // a multi-line object
	case errors.Is(err, io.ErrUnexpectedEOF) && ended && len(second) == 0 && !whole:
		return jsonValues
	}
	return Lines
}
