package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// NameError is the error of a name that no item has, or several have. It matches [ErrNotFound] if no item has
// it.
type NameError struct {
	Op   Op
	Name string
	IDs  []string // the items that have the name
}

// Error says how many items have the name, and lists their ids.
func (e *NameError) Error() string {
	name := mask.Clean(fmt.Sprintf("%q", e.Name))
	if len(e.IDs) == 0 {
		return fmt.Sprintf("hogapi: %s: nothing has the name %s", e.Op, name)
	}
	return fmt.Sprintf("hogapi: %s: %d have the name %s: take one by its id, %s", e.Op, len(e.IDs), name, strings.Join(e.IDs, " or "))
}

// Is matches ErrNotFound if nothing has the name.
func (e *NameError) Is(target error) bool { return target == ErrNotFound && len(e.IDs) == 0 }

// ByName returns the export with exactly this name. The service does not keep names unique: if several exports
// have it, or no export, the error is a [*NameError]. ByName reads the whole list.
//
// GET /batch_exports/, scope batch_export:read.
func (s *BatchExportsService) ByName(ctx context.Context, name string, options ...CallOption) (*BatchExport, error) {
	return byName(ops.BatchExportsList, name, s.All(ctx, nil, options...), func(e *BatchExport) (id any, names []string) {
		return e.ID, []string{e.Name}
	})
}

// ByName returns the integration of a kind with exactly this name, which is either the name it was given or the
// name that PostHog shows. An empty kind is any. If several integrations have the name, or no integration, the
// error is a [*NameError]. ByName reads the whole list of the kind.
//
// GET /integrations/, scope integration:read.
func (s *IntegrationsService) ByName(ctx context.Context, kind integration.Kind, name string, options ...CallOption) (*Integration, error) {
	list := s.All(ctx, &IntegrationListOptions{Kind: kind}, options...)
	return byName(ops.IntegrationsList, name, list, func(i *Integration) (id any, names []string) {
		var given struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(i.Config, &given) // a config of another form has no name
		return i.ID, []string{given.Name, i.DisplayName}
	})
}

// byName returns the only item of a list that has a name.
func byName[T any](op Op, name string, list iter.Seq2[T, error], of func(*T) (id any, names []string)) (*T, error) {
	if name == "" {
		return nil, refused(op, outgoing.Refuse("name", "", "a name"))
	}
	var found *T
	failed := &NameError{Op: op, Name: name}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		if id, names := of(&item); slices.Contains(names, name) {
			found = &item
			failed.IDs = append(failed.IDs, fmt.Sprint(id))
		}
	}
	if len(failed.IDs) != 1 {
		return nil, failed
	}
	return found, nil
}
