package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// unplain matches words that make a text read as translated, with plainer ones to use instead.
var unplain = []struct {
	word    *regexp.Regexp
	instead string
}{
	{words(`mend(s|ed|ing)?`), "fix"},
	{words(`anew`), "again"},
	{words(`heed(s|ed|ing)?`), "obey"},
	{words(`shall`), "must or will"},
	{words(`goes on`), "continues or resumes"},
	{words(`beside`), "with, next to or in addition to"},
	{words(`for ever`), "forever"},
	{words(`without a word`), "silently"},
	{words(`looks? whether`), "check whether"},
	{words(`(what|there) is none`), "the noun"},
	{words(`(is|are) no JSON`), "is not JSON"},
	{words(`the specification`), "PostHog's API reference"},
	{regexp.MustCompile(`[TK]\d+–[TK]?\d+`), "their names"},
}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b` + pattern + `\b`) }

const widest = 120

// page matches the documents that users read. An entry of the changelog stays as it was written.
var page = regexp.MustCompile(`^(docs/.*|[A-BD-Z]+|CONTRIBUTING)\.md$|^examples/`)

var webAddress = regexp.MustCompile(`https?://[^\s)]+`)

// english checks the words of documents and of source that is not a test, and the width of pages. Rows of tables may be wide, and code
// in a document has words of its own.
func english(file, line string, inCode bool) []string {
	if ext := path.Ext(file); ext != ".md" && (ext != ".go" || strings.HasSuffix(file, "_test.go")) {
		return nil
	}
	var found []string
	line = strings.TrimRight(line, "\r\n")
	wide := utf8.RuneCountInString(webAddress.ReplaceAllString(line, ""))
	isTable := strings.HasPrefix(line, "|") || inCode && file == "docs/formats.md" // which a test writes
	if page.MatchString(file) && wide > widest && !isTable {
		found = append(found, fmt.Sprintf("%d columns: want at most %d", wide, widest))
	}
	if inCode {
		return found
	}
	text := inlineCode.ReplaceAllString(line, "")
	for _, u := range unplain {
		if m := u.word.FindString(text); m != "" {
			found = append(found, fmt.Sprintf("%q: write %s", m, u.instead))
		}
	}
	return found
}
