package record

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the conversion of the value of a field.
type Kind uint8

// Kinds.
const (
	Event   Kind = iota // a property of the event
	Both                // a property of the event and of its person
	Person              // a property of the person, by the policy of the format
	Once                // a property of the person's beginning
	Code                // the converter's code reads it: To and Note describe the result
	Dropped             // left out
)

// String returns the kind as the docs print it.
func (k Kind) String() string {
	return [...]string{"event", "event and person", "person", "person, once", "", "dropped"}[k]
}

// Row is a row of a vendor's table: a field of its records and the property that it becomes.
type Row struct {
	From string // the field, or the path of one, such as "context.page.url"
	To   string // the property; for Code any text
	Kind Kind
	Note string // for the docs: a unit, or a condition
}

// Table maps the fields of a vendor's records. The converter runs it, and the docs print it. A field may have several
// rows.
type Table []Row

// Within returns the rows of the members of an object, which have the path of the object and a dot before their
// names, with the names alone. For "" it returns the rows of fields outside of objects.
func (t Table) Within(path string) (inner Table) {
	for _, row := range t {
		from, isInner := row.From, true
		if path != "" {
			from, isInner = strings.CutPrefix(from, path+".")
		}
		if isInner && !strings.Contains(from, ".") {
			row.From = from
			inner = append(inner, row)
		}
	}
	return inner
}

// String returns the table as the docs print it: a line for each row, with the field, the property, the kind and
// the note.
func (t Table) String() string {
	from, to := 0, 0
	for _, row := range t {
		from, to = max(from, utf8.RuneCountInString(row.From)), max(to, utf8.RuneCountInString(row.To))
	}
	var b strings.Builder
	for _, row := range t {
		remark := []string{row.Kind.String(), row.Note}
		if row.Kind == Event {
			remark = remark[1:]
		}
		line := fmt.Sprintf("%-*s  %-*s  %s", from, row.From, to, row.To, OptionsText("; ", remark...))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Values are the raw values of the fields of a record that a table knows.
type Values struct {
	table  Table
	fields []field
	heads  [256]int // the fields by a hash of their names: 0, or the number of the first one, from 1
	raw    [][]byte // by the rows of the table
	quoted [][]byte // their properties, as JSON
}

// field is a field that the table knows.
type field struct {
	name string
	rows []int
	next int // field with the hash: 0, or its number from 1
}

// Values returns room for the values of one record.
func (t Table) Values() *Values {
	v := &Values{table: t, raw: make([][]byte, len(t))}
	for i, row := range t {
		v.quoted = append(v.quoted, Quoted(row.To))
		f := find(v, row.From)
		if f == nil {
			head := &v.heads[hash(row.From)%uint(len(v.heads))]
			v.fields = append(v.fields, field{name: row.From, next: *head})
			*head = len(v.fields)
			f = &v.fields[len(v.fields)-1]
		}
		f.rows = append(f.rows, i)
	}
	return v
}

// find returns a field by its name, or nil.
func find[T string | []byte](v *Values, name T) *field {
	for n := v.heads[hash(name)%uint(len(v.heads))]; n > 0; n = v.fields[n-1].next {
		if f := &v.fields[n-1]; f.name == string(name) {
			return f
		}
	}
	return nil
}

// Begin forgets the record before.
func (v *Values) Begin() { clear(v.raw) }

// Take notes the value of a field, and reports whether the table knows it.
func (v *Values) Take(field, value []byte) (isKnown bool) {
	f := find(v, field)
	if f == nil {
		return false
	}
	for _, i := range f.rows {
		v.raw[i] = value
	}
	return true
}

// Get returns the value of a field, or nil. It panics if the table does not know the field.
func (v *Values) Get(field string) []byte {
	f := find(v, field)
	if f == nil {
		panic(fmt.Sprintf("the table has no field %q", field))
	}
	return v.raw[f.rows[0]]
}

// Add adds the properties of the record in the order of the table. It skips empty values, and calls
// keep with a value if the event has another value under the name of its property already.
func (v *Values) Add(p *Properties, keep func(field string, value []byte)) {
	for i, value := range v.raw {
		row, quoted := &v.table[i], v.quoted[i]
		if row.Kind >= Code || IsEmpty(value) {
			continue
		}
		switch row.Kind {
		case Person:
			p.person().addQuoted(quoted, value)
		case Once:
			p.once.addQuoted(quoted, value)
		default:
			if isNew := p.Object.addQuoted(quoted, value); !isNew {
				if !p.Has(row.To, value) {
					keep(row.From, value)
				}
			} else if row.Kind == Both {
				p.person().addQuoted(quoted, value)
			}
		}
	}
}
