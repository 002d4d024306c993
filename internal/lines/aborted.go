package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// checkAborted returns an error if a record says that the export of its file broke off, so that the rest is missing: a
// message of the vendor's service or of the program that fetched the file, or the beginning of a record. In lines they
// are signs only at the end of the file, but for Mixpanel's.
func (f *File) checkAborted(l *Line) error {
	if l.Long || f.options.Holes { // a reject file
		return nil
	}
	sign := ""
	r, isLines := f.reader.(*Reader)
	switch {
	case isLines && f.layout == Lines:
		if text := bytes.TrimSpace(l.Text); len(text) > 0 && text[0] != '{' && bytes.Contains(text, terminatedEarly) {
			sign = "a message that the export ended early"
		} else if r.isAtEnd(l) {
			sign = signOfEnd(bytes.TrimSpace(l.Text))
		}
	case l.Fault != nil && message.Match(l.row):
		sign = "a message of an error and no row"
	}
	if sign == "" {
		return nil
	}
	return fmt.Errorf("%s is %s: the export broke off, and what follows is missing; get the file again, or remove that line to import what there is",
		f.nth(l.Number), sign)
}

// signOfEnd describes the last line of an export that broke off, or returns "".
func signOfEnd(text []byte) string {
	switch {
	case len(text) == 0:
	case text[0] != '{' && (isMarkup(text) || message.Match(text)):
		return "a message of an error and no record"
	case text[0] == '{' && isErrorObject(text):
		return "the answer of a service that failed"
	case text[0] == '{' && isUnfinished(text):
		return "the beginning of a record"
	}
	return ""
}

// terminatedEarly is Mixpanel's text after the last line of an export that it could not finish.
var terminatedEarly = []byte("terminated early")

// message matches the errors that servers, proxies and programs write in place of the rest of a file.
var message = regexp.MustCompile(`(?i)^[^{",;\t]{0,60}(terminated early|time-?d? ?-?out|gateway|internal server error|connection (reset|closed|refused)|` +
	`too many requests|rate limit|curl: \(|traceback|broken pipe|out of memory|unexpected eof)`)

// isErrorObject reports whether an object has an error and nothing that events have.
func isErrorObject(text []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return false
	}
	says := false
	for name, value := range members {
		switch name {
		case "error", "errors":
			says = says || string(value) != "null" && string(value) != "false"
		case "status", "result":
			says = says || slices.Contains([]string{`"error"`, `"failure"`, `"failed"`}, string(value))
		case "message", "code", "request", "request_id", "details", "detail", "error_description", "error_message", "type", "statusCode", "status_code":
		default:
			return false
		}
	}
	return says
}

// isAtEnd reports whether only blanks follow the line that was returned last.
func (r *Reader) isAtEnd(last *Line) bool {
	for isKept := false; ; {
		rest := r.text.rest()
		switch {
		case slices.ContainsFunc(rest, func(c byte) bool { return c > ' ' }):
			return false
		case r.text.failed != nil:
			return errors.Is(r.text.failed, io.EOF)
		case len(rest) > firstBuffer:
			return false
		}
		if !isKept { // fill moves the bytes
			last.Text, isKept = bytes.Clone(last.Text), true
		}
		r.text.fill()
	}
}
