package warehouse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// SkipDeleted is why rows are skipped that a loader has marked as deleted.
const SkipDeleted = "deleted row"

// Options control how rows are read. Nil stands for the defaults.
type Options struct {
	// Numbers are the names of further columns with numbers. A CSV file has only texts, so the properties of an
	// event would be texts in PostHog, and could not be summed. Parquet files have numbers themselves.
	Numbers []string
	// Table is the table of Segment or RudderStack: tracks, which stands for the tables of single events too, pages,
	// screens, identifies, groups or aliases. By default, the columns tell it, and rows without telling ones are
	// rejected.
	Table string
}

func (o Options) text() string {
	numbers := slices.Sorted(slices.Values(o.Numbers))
	return record.OptionsText(", ", record.Flag("table="+o.Table, o.Table != ""),
		record.Flag("numbers="+strconv.QuoteToASCII(strings.Join(slices.Compact(numbers), ",")), len(numbers) > 0))
}

// table makes records of a vendor of the rows of a table.
type table interface {
	// nested is the record that a row holds, with a uuid if the row has an id that the record lacks. The record is
	// there with some errors too.
	nested(b *builder) (made *tree, id uuid.UUID, err error)
	// needs are the columns that a table must have.
	needs() []need
}

// need is a column, or one of several, by the text that names it where it is missing.
type need struct {
	name string
	of   []string // nil: the column of that name
}

// column is a column of a row that is not empty.
type column struct {
	name  string
	value []byte // raw
}

// format is the format of a vendor for the rows of its tables.
func format(name string, vendor history.Format, o Options, t table) history.Format {
	options := vendor.Options
	if text := o.text(); text != "" {
		options += "; " + text
	}
	pool := sync.Pool{New: func() any { return &builder{names: map[string]string{}} }}
	return history.Format{
		Name: name, Options: options, Layout: history.LayoutAny, KeepNulls: vendor.KeepNulls,
		CheckColumns: func(columns []string) error {
			for _, n := range t.needs() {
				isOf := func(column string) bool {
					column = strings.ToLower(column)
					return column == n.name || slices.Contains(n.of, column)
				}
				if !slices.ContainsFunc(columns, isOf) {
					return fmt.Errorf("this is not a table of %s: it has no column %s. "+
						"Name only files of these tables, or see formats.generic for others", name, n.name)
				}
			}
			return nil
		},
		Convert: func(raw []byte) ([]hogapi.Event, error) {
			b, _ := pool.Get().(*builder)
			defer pool.Put(b)
			isDeleted, err := b.read(raw)
			switch {
			case err != nil:
				return nil, err
			case isDeleted:
				return nil, history.Skip(SkipDeleted)
			}
			made, id, err := t.nested(b)
			if err != nil {
				return nil, err
			}
			b.made = made.append(b.made[:0])
			events, err := vendor.Convert(b.made) // which keeps no part of the text
			if id != uuid.Nil && len(events) > 0 {
				events[0].UUID = id
			}
			return events, err
		},
		ID: func(raw []byte) uuid.UUID {
			b, _ := pool.Get().(*builder)
			defer pool.Put(b)
			if _, err := b.read(raw); err != nil {
				return uuid.Nil
			}
			made, id, _ := t.nested(b)
			if id != uuid.Nil {
				return id
			}
			b.made = made.append(b.made[:0])
			return vendor.ID(b.made)
		},
	}
}

// read reads a row: its columns in their order, by small letters. Empty ones have no value.
func (b *builder) read(raw []byte) (isDeleted bool, err error) {
	if cap(b.made) > usual {
		*b = builder{names: b.names}
	}
	clear(b.row)
	b.row, b.used = b.row[:0], 0
	err = jsonb.Object(raw, func(key, value []byte) {
		if record.IsNone(value) {
			value = nil
		}
		name := b.name(key)
		if name == "_fivetran_deleted" || name == "_sdc_deleted_at" {
			isDeleted = isDeleted || name == "_sdc_deleted_at" && value != nil || record.IsTrue(value)
			return
		}
		if !strings.HasPrefix(name, "_fivetran_synced") && !strings.HasPrefix(name, "_sdc_") && !strings.HasPrefix(name, "_airbyte_") {
			b.row = append(b.row, column{name, value})
		}
	})
	return isDeleted, err
}

// value is the raw value of a column: a number where it is one, and the list or object that a loader has written as a
// text.
func value(c column, isNumber bool) []byte {
	if isNumber {
		return record.Number(c.value)
	}
	return record.Inner(c.value)
}

// truth is true or false where a text says so, as tables write it.
func truth(raw []byte) []byte {
	switch strings.ToLower(record.Text(raw)) {
	case "true", "t", "1":
		return []byte("true")
	case "false", "f", "0":
		return []byte("false")
	}
	return raw
}

// kinds says how the columns of a table are written.
type kinds map[string]func(raw []byte) []byte

func numbersOf(names ...string) kinds { return kinds{}.with(record.Number, names...) }

func (k kinds) with(as func(raw []byte) []byte, names ...string) kinds {
	for _, name := range names {
		k[name] = as
	}
	return k
}

// places are the members of a record by the columns.
func places(table record.Table) map[string]record.Row {
	found := make(map[string]record.Row, len(table))
	for _, row := range table {
		found[row.From] = row
	}
	return found
}

// sections are the beginnings of columns, with the object for the rest of their names.
func sections(table record.Table) (found []record.Row) {
	for _, row := range table {
		if from, isSection := strings.CutSuffix(row.From, "…"); isSection && from != "" {
			found = append(found, record.Row{From: from, To: strings.TrimSuffix(row.To, "…")})
		}
	}
	return found
}

func set(names []string) map[string]bool {
	found := map[string]bool{}
	for _, name := range names {
		found[strings.ToLower(name)] = true
	}
	return found
}
