package generic

import "slices"

// Persons tells which column the person of a record comes from. Ids of two columns can be equal by chance, and their persons
// are then one: see the step |prefix.
type Persons struct{ converter *converter }

// NewPersons returns nil if the map names the person by one column, or within the elements of a list.
func NewPersons(options *Options) (*Persons, error) {
	_, c, err := read(options)
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(slices.Clone(c.fields[targetPerson]), func(u *use) bool { return u.constant != nil })
	if len(columns) < 2 || slices.ContainsFunc(columns, func(u *use) bool { return u.inList }) {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	return &Persons{c}, nil
}

// Of returns the column and the id of the record's person. The column is empty for a record without one.
func (p *Persons) Of(record []byte) (column, id string) {
	r, err := p.converter.read(record)
	if err != nil {
		return "", ""
	}
	u, id, err := r.text(targetPerson)
	if u == nil || err != nil || id == "" {
		return "", ""
	}
	return u.from(), id
}
