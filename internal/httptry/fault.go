package httptry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RowFault is a row that cannot be read as a whole. Its other fields are set.
type RowFault struct {
	Index int
	Field string // the first that stays empty; "" if another thing than a field is the reason
	Raw   json.RawMessage
	Err   error
}

// RowFaults is the error of a page that can be read except for some rows.
type RowFaults []RowFault

func (f RowFaults) Error() string { return fmt.Sprintf("row %d: %v", f[0].Index, f[0].Err) }

// orNil returns nil without faults.
func (f RowFaults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// salvage decodes again a row that could not be decoded: it leaves out the members that cannot be decoded on their own,
// and names them. If it finds none, the row stays empty and the error is err.
func salvage[T any](raw []byte, row *T, err error) (field string, _ error) {
	var none T
	*row = none
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return "", err
	}
	var says []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		alone, _ := json.Marshal(map[string]json.RawMessage{name: members[name]}) //nolint:errchkjson // valid: it was read
		if cause := Unmarshal(alone, new(T)); cause != nil {
			delete(members, name)
			if len(says) == 0 {
				field = name
			}
			says = append(says, cause.Error())
		}
	}
	if len(says) == 0 {
		return "", err
	}
	rest, _ := json.Marshal(members) //nolint:errchkjson // valid, too
	if json.Unmarshal(rest, row) != nil {
		*row = none
	}
	return field, errors.New(strings.Join(says, "; "))
}
