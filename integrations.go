package hogapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Integration holds the credentials of a destination for the exports of a project, which name it by
// its id in [Destination.Integration]. The service never returns credentials.
type Integration struct {
	ID          int64            `json:"id"`
	Kind        integration.Kind `json:"kind"`
	Config      destination.Raw  `json:"config"` // public fields, such as the name
	DisplayName string           `json:"display_name,omitzero"`
	Errors      string           `json:"errors"` // why the service could not use it; may be empty
	CreatedAt   time.Time        `json:"created_at"`
	CreatedBy   *User            `json:"created_by"`
}

func (i *Integration) identity() string { return strconv.FormatInt(i.ID, 10) }

func (i *Integration) complete() error { return has("id", i.ID) }

// IntegrationListOptions selects integrations.
type IntegrationListOptions struct {
	ListOptions

	Kind integration.Kind // integrations of this kind only; empty for all
}

// IntegrationsService is [Client.Integrations]: the integrations of a project, which hold the credentials of its
// destinations; on servers without them its calls are [ErrUnsupported].
type IntegrationsService service

// List returns one page of integrations, oldest first: GET /integrations/, scope integration:read.
func (s *IntegrationsService) List(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) (*OffsetPage[Integration], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *IntegrationsService) Pages(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) iter.Seq2[*OffsetPage[Integration], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields all integrations. The error that ends it is a [*PageError], which says where to resume.
func (s *IntegrationsService) All(
	ctx context.Context, o *IntegrationListOptions, options ...CallOption,
) iter.Seq2[Integration, error] {
	return s.walk(o, options).All(ctx)
}

func (s *IntegrationsService) walk(
	o *IntegrationListOptions, options []CallOption,
) offsetWalk[Integration] {
	selected := outgoing.OrDefault(o)
	query := url.Values{}
	outgoing.SetText(query, "kind", string(selected.Kind))
	r := endpoint(ops.IntegrationsList).refuse(outgoing.MisspeltIfSet("Kind", selected.Kind, integration.Kinds())).with(query)
	return walkByOffset[Integration](s.client, r, selected.ListOptions, options)
}

// Get returns one integration, or [ErrNotFound]: GET /integrations/{id}/, scope integration:read.
func (s *IntegrationsService) Get(ctx context.Context, id int64, options ...CallOption) (*Integration, error) {
	return ask[Integration](ctx, s.client, endpointByNumber(ops.IntegrationsGet, id), options)
}

// integrationTry is the least time limit of a try to create an integration, while the service asks
// AWS whether the credentials are valid.
const integrationTry = time.Minute

// Create makes an integration; the service first checks the credentials of some vendors, for up to 60 seconds. A second
// one of the same target is refused or replaces the first: its id stays, and every export that uses it gets the new
// credentials. The kinds in package integration define the same target. For BigQuery that is the e-mail, so Create
// refuses another ProjectID for an e-mail unless integration.BigQuery.ReplaceProject is set. The call is not repeated
// if its outcome is unknown.
//
// POST /integrations/, scope integration:write. [ErrInvalid] for credentials that do not work, [ErrForbidden] if the key's
// user would have to be an admin of the project.
func (s *IntegrationsService) Create(ctx context.Context, request integration.Request, options ...CallOption) (*Integration, error) {
	r := endpoint(ops.IntegrationsCreate)
	kind, config, refusal := configs.Integration(request)
	r.body, r.refusal = integrationBody{kind, config}, refusal
	r.minTry = integrationTry
	if refusal == nil && kind == integration.KindBigQuery {
		if err := s.keepsProject(ctx, request, options); err != nil {
			return nil, err
		}
	}
	r.matches = func(answer any) error { return isAskedFor("kind", answer.(*Integration).Kind, kind) }
	return ask[Integration](ctx, s.client, r, options)
}

// keepsProject refuses a request that would replace the Google Cloud project of an integration unasked. Whether that one
// has a key file is not shown, so an integration of the other way of access counts too.
func (s *IntegrationsService) keepsProject(ctx context.Context, request integration.Request, options []CallOption) error {
	var wanted integration.BigQuery
	switch r := request.(type) {
	case integration.BigQuery:
		wanted = r
	case *integration.BigQuery:
		wanted = *r
	}
	if wanted.ReplaceProject {
		return nil
	}
	for x, err := range s.All(ctx, &IntegrationListOptions{Kind: integration.KindBigQuery}, options...) {
		if err != nil {
			return err
		}
		var has struct {
			Email   string `json:"service_account_email"`
			Project string `json:"project_id"`
		}
		_ = json.Unmarshal(x.Config, &has) // a config of another form has neither
		if has.Email == wanted.ServiceAccountEmail && has.Project != wanted.ProjectID {
			return refused(ops.IntegrationsCreate, outgoing.Refuse("ProjectID", wanted.ProjectID, "the project of integration "+
				strconv.FormatInt(x.ID, 10)+", "+has.Project+": PostHog keeps one integration per e-mail, and the exports that use it "+
				"would write into the new project. Take another service account, or set ReplaceProject"))
		}
	}
	return nil
}

type integrationBody struct {
	Kind   integration.Kind `json:"kind"`
	Config map[string]any   `json:"config"`
}

// Delete removes an integration; the key's user must be an admin of the project. While a batch export uses it, the service
// refuses with [ErrInvalid], but it does not look into the CopyInputs of Redshift: such an export would fail afterwards.
//
// DELETE /integrations/{id}/, scope integration:write. [ErrNotFound] if it was deleted before.
func (s *IntegrationsService) Delete(ctx context.Context, id int64, options ...CallOption) error {
	return s.client.call(ctx, endpointByNumber(ops.IntegrationsDelete, id), nil, options...)
}

func endpointByNumber(op Op, id int64) request {
	text := strconv.FormatInt(id, 10)
	return endpoint(op, text).refuse(outgoing.If(id <= 0, "{id}", text, "an id, a number above 0"))
}

// ByName returns the integration of a kind, or of any kind for "", with exactly this name, given or shown, after
// reading the whole list. The error is [ErrNotFound] if no integration has the name, and an [*InputError] with the ids
// if several do: GET /integrations/, scope integration:read.
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
