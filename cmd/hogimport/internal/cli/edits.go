package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/errtext"
)

// Names of the flags, and the words of the lines of --edit-file.
const (
	renameFlag   = "rename"
	dropFlag     = "drop"
	propertyFlag = "rename-property"
	editFileFlag = "edit-file"
	mapFileFlag  = "map-file"
)

func (in *input) bindMap(f *pflag.FlagSet) {
	f.Var(entries{&in.Map}, "map", "the meaning of a column or a path: `TARGET=SOURCE`, such as 'time=properties.time|unix'; see hogimport formats")
	f.Var(&entryFiles{take: func(line string) error {
		in.Map = append(in.Map, line)
		return nil
	}}, mapFileFlag, "a `FILE` with one --map on each line; lines that begin with # are comments")
}

func (in *input) bindEdits(f *pflag.FlagSet) {
	f.Var(entries{&in.Rename}, renameFlag, "another name for an event: `OLD=NEW`, such as 'Old Name=new_name'")
	f.Var(entries{&in.Drop}, dropFlag, "the `NAME` of a property to leave out, also of persons and groups, such as email")
	f.Var(entries{&in.RenameProperty}, propertyFlag, "another name for a property, also of persons and groups: `OLD=NEW`")
	f.Var(&entryFiles{take: in.takeEdit}, editFileFlag, "a `FILE` with lines such as rename OLD=NEW, drop NAME and rename-property OLD=NEW")
}

// takeEdit adds a line of --edit-file.
func (in *input) takeEdit(line string) error {
	word, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	list := map[string]*[]string{renameFlag: &in.Rename, dropFlag: &in.Drop, propertyFlag: &in.RenameProperty}[word]
	if list == nil || value == "" {
		return errors.New("want rename OLD=NEW, drop NAME or rename-property OLD=NEW")
	}
	*list = append(*list, value)
	return nil
}

// edits returns the changes of events for the library.
func (in *input) edits() (*formats.EditOptions, error) {
	o := &formats.EditOptions{DropProperties: in.Drop}
	var err error
	if o.RenameEvents, err = renamesOf(renameFlag, in.Rename); err == nil {
		o.RenameProperties, err = renamesOf(propertyFlag, in.RenameProperty)
	}
	return o, err
}

func renamesOf(flag string, texts []string) (map[string]string, error) {
	names := map[string]string{}
	for _, text := range texts {
		from, to, ok := renameOf(text)
		if !ok {
			return nil, shell.UsageError(fmt.Sprintf("--%s %q is not OLD=NEW", flag, text), `put the two names around =, such as 'Old Name=new_name'; a name with = belongs in quotes, such as '"a=b"=c'`)
		}
		if other, isTwice := names[from]; isTwice && other != to {
			return nil, shell.UsageError(fmt.Sprintf("--%s has two new names for %q", flag, from), "leave one of them out")
		}
		names[from] = to
	}
	return names, nil
}

// renameOf reads two names with = between. A name can be in quotes.
func renameOf(text string) (from, to string, ok bool) {
	from, to, ok = strings.Cut(text, "=")
	if strings.HasPrefix(text, `"`) {
		quote, err := strconv.QuotedPrefix(text)
		if err == nil {
			from, err = strconv.Unquote(quote)
		}
		if err != nil {
			return "", "", false
		}
		to, ok = strings.CutPrefix(text[len(quote):], "=")
	}
	if name, err := strconv.Unquote(to); err == nil && strings.HasPrefix(to, `"`) {
		to = name
	}
	return from, to, ok && from != "" && to != ""
}

// edited returns a format of which the events are edited. Of lines that are events, it only checks the edits.
func (in *input) edited(format history.Format) (history.Format, error) {
	options, err := in.edits()
	if err != nil {
		return format, err
	}
	format, err = formats.EditFormat(format, options)
	bad, isInput := errors.AsType[*hogapi.InputError](err)
	if !isInput {
		return format, err
	}
	flag := map[string]string{"EditOptions.RenameEvents": renameFlag, "EditOptions.DropProperties": dropFlag}[bad.Field]
	if flag == "" {
		flag = propertyFlag
	}
	todo := "give " + bad.Want
	if flag == dropFlag && strings.HasPrefix(bad.Value, "$set") {
		todo = "give --set-policy strip to leave out the properties of persons"
	}
	return format, shell.UsageError(fmt.Sprintf("--%s cannot change %q", flag, bad.Value), todo)
}

// editedLines returns a source of lines that are events after the edits, which were checked.
func (in *input) editedLines(source history.Source) history.Source {
	options, err := in.edits()
	if err == nil {
		source, err = formats.Edit(source, options)
	}
	if err != nil {
		panic(err)
	}
	return source
}

// entries is a flag that can be repeated. It adds to its list, to which a file can add, too.
type entries struct{ list *[]string }

// String implements pflag.Value.
func (e entries) String() string {
	if e.list == nil {
		return ""
	}
	return strings.Join(*e.list, "\n")
}

// Set implements pflag.Value.
func (e entries) Set(value string) error {
	*e.list = append(*e.list, value)
	return nil
}

// Type implements pflag.Value.
func (entries) Type() string { return "stringArray" }

// Append, Replace and GetSlice implement pflag.SliceValue, so that a command can be printed again.
func (e entries) Append(value string) error { return e.Set(value) }

// Replace takes other entries.
func (e entries) Replace(values []string) error {
	*e.list = values
	return nil
}

// GetSlice returns the entries.
func (e entries) GetSlice() []string { return *e.list }

// entryFiles is a flag with files of entries.
type entryFiles struct {
	paths []string
	take  func(line string) error
}

// String implements pflag.Value.
func (f *entryFiles) String() string { return strings.Join(f.paths, "\n") }

// Type implements pflag.Value.
func (*entryFiles) Type() string { return "stringArray" }

// Set implements pflag.Value. It takes the lines of the file, without comments and blank lines.
func (f *entryFiles) Set(path string) error {
	const most = 8 << 20
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, errtext.Pathless(err))
	case len(text) > most || !utf8.Valid(text):
		return fmt.Errorf("%s: this is not a file of lines in UTF-8", path)
	}
	scanner := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	scanner.Buffer(nil, most+1)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := f.take(line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	f.paths = append(f.paths, path)
	return scanner.Err()
}

// Append, Replace and GetSlice implement pflag.SliceValue, so that a command can be printed again.
func (f *entryFiles) Append(path string) error { return f.Set(path) }

// Replace is not needed.
func (*entryFiles) Replace([]string) error { return errors.New("files of entries cannot be replaced") }

// GetSlice returns the paths.
func (f *entryFiles) GetSlice() []string { return f.paths }
