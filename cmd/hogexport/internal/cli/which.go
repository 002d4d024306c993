package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// exports returns the exports of some names, ids or beginnings of ids; or all of them.
func (a *app) exports(ctx context.Context, client *hogapi.Client, names []string) (found []hogapi.BatchExport, err error) {
	var all []hogapi.BatchExport // once the list was read
	for _, name := range names {
		if id, err := uuid.Parse(name); err == nil && all == nil {
			export, err := client.BatchExports.Get(ctx, id)
			if err == nil {
				found = append(found, *export)
				continue
			}
			if !errors.Is(err, hogapi.ErrNotFound) {
				return nil, err
			} // else the list says what is not there: the export or the project
		}
		if all == nil {
			if all, err = listed(ctx, client); err != nil {
				return nil, err
			}
		}
		export, err := choose(all, name)
		if err != nil {
			return nil, err
		}
		found = append(found, *export)
	}
	if len(names) == 0 {
		return listed(ctx, client)
	}
	return found, nil
}

// export returns the export of a name, an id or the beginning of an id.
func (a *app) export(ctx context.Context, client *hogapi.Client, name string) (*hogapi.BatchExport, error) {
	found, err := a.exports(ctx, client, []string{name})
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

func listed(ctx context.Context, client *hogapi.Client) (all []hogapi.BatchExport, err error) {
	all = []hogapi.BatchExport{}
	for export, err := range client.BatchExports.All(ctx, &hogapi.ListOptions{Limit: 100}) {
		if err != nil {
			return nil, err
		}
		all = append(all, export)
	}
	return all, nil
}

// isBeginning matches a possible beginning of an id.
var isBeginning = regexp.MustCompile(`^[0-9a-fA-F-]{4,36}$`)

// choose returns the export of a name, or else of an id or the beginning of one.
func choose(all []hogapi.BatchExport, name string) (*hogapi.BatchExport, error) {
	var same, begin []int
	for i := range all {
		switch {
		case all[i].Name == name:
			same = append(same, i)
		case isBeginning.MatchString(name) && strings.HasPrefix(all[i].ID.String(), strings.ToLower(name)):
			begin = append(begin, i)
		}
	}
	found, what := same, "have the name"
	if len(same) == 0 {
		found, what = begin, "have an id that begins with"
	}
	switch len(found) {
	case 1:
		return &all[found[0]], nil
	case 0:
		return nil, shell.UsageError(fmt.Sprintf("the project has no batch export %q", name), "see hogexport list; names with blanks need quotes")
	}
	ids, texts := shortIDs(all), []string{}
	for _, i := range found {
		texts = append(texts, ids[all[i].ID]+" "+traits(&all[i]))
	}
	return nil, shell.UsageError(fmt.Sprintf("%d exports %s %q", len(found), what, name), "take one by its id: "+strings.Join(texts, ", "))
}

// minID is the least length of the beginning of an id that the command itself writes.
const minID = 8

// shortIDs returns the beginnings of ids by which the exports of a project can be named.
func shortIDs(all []hogapi.BatchExport) map[uuid.UUID]string {
	return beginnings(all, func(e *hogapi.BatchExport) uuid.UUID { return e.ID })
}

// beginnings returns the shortest beginning of each id that no other has, of at least minID characters.
func beginnings[T any](all []T, idOf func(*T) uuid.UUID) map[uuid.UUID]string {
	ids, sorted := map[uuid.UUID]string{}, make([]string, len(all))
	for i := range all {
		sorted[i] = idOf(&all[i]).String()
	}
	slices.Sort(sorted)
	for i, id := range sorted {
		length := minID
		for _, k := range []int{i - 1, i + 1} {
			for k >= 0 && k < len(sorted) && length < len(id) && sorted[k] != id && strings.HasPrefix(sorted[k], id[:length]) {
				length++
			}
		}
		if id[length-1] == '-' {
			length++
		}
		ids[uuid.MustParse(id)] = id[:length]
	}
	return ids
}

// handles returns how a command should name each export: by the given name or id, or else by its name, or its id if the
// name is not unique.
func handles(exports []hogapi.BatchExport, given []string) (names []string) {
	ids := shortIDs(exports)
	for i := range exports {
		isOf := func(other hogapi.BatchExport) bool { return other.ID != exports[i].ID && other.Name == exports[i].Name }
		switch {
		case len(given) == len(exports):
			names = append(names, given[i])
		case slices.ContainsFunc(exports, isOf):
			names = append(names, ids[exports[i].ID])
		default:
			names = append(names, exports[i].Name)
		}
	}
	return names
}

// traits tells exports with one name apart.
func traits(e *hogapi.BatchExport) string {
	state := stateActive
	if e.Paused {
		state = statePaused
	}
	return fmt.Sprintf("(%s, %s, %s)", every(string(e.Interval)), term.Line(target(e)), state)
}

// target is the type of the destination, and the bucket or the table.
func target(e *hogapi.BatchExport) string {
	var c struct {
		Bucket    string `json:"bucket_name"`
		Container string `json:"container_name"`
		Prefix    string `json:"prefix"`
		Dataset   string `json:"dataset_id"`
		TableID   string `json:"table_id"`
		Schema    string `json:"schema"`
		Table     string `json:"table_name"`
	}
	text, err := json.Marshal(e.Destination.Config) // without credentials
	if err == nil {
		_ = json.Unmarshal(text, &c) // what does not fit is left out
	}
	where := cmp.Or(c.Bucket, c.Container)
	if where != "" && c.Prefix != "" {
		where += "/" + strings.TrimPrefix(c.Prefix, "/")
	}
	if table := cmp.Or(c.TableID, c.Table); where == "" && table != "" {
		where = strings.Join(slices.DeleteFunc([]string{cmp.Or(c.Dataset, c.Schema), table}, func(s string) bool { return s == "" }), ".")
	}
	return strings.TrimSpace(string(e.Destination.Type) + " " + where)
}
