package cli

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/reconcile"
)

// explain explains an error to the user. No other function does.
func (a *app) explain(err error) *shell.Fault {
	if f, ok := errors.AsType[*shell.Fault](err); ok {
		return f
	}
	if f := shell.UnknownCommand("hogexport", err); f != nil {
		return f
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hogapi: "), "; resume at ") // the same command reads all pages again
	text = inFlags(strings.ReplaceAll(text, ".; ", "; "))
	fault := func(code shell.Code, todo string) *shell.Fault {
		return &shell.Fault{Code: code, Text: text, Todo: todo, Err: err}
	}
	answer, isAnswer := errors.AsType[*hogapi.APIError](err)
	_, isUnreachable := errors.AsType[*hogapi.TransportError](err)
	switch {
	case errors.Is(err, shell.ErrInterrupted), errors.Is(err, context.Canceled):
		text = "interrupted"
		return fault(shell.CodeStopped, "run the same command again")
	case errors.Is(err, hogapi.ErrHeld):
		return fault(shell.CodeOther, "another hogexport is using this folder: wait for it, or stop it")
	case errors.Is(err, hogapi.ErrOutcomeUnknown):
		return fault(shell.CodeStopped, "the service may have carried it out: run the same command again, which checks first")
	case errors.Is(err, hogapi.ErrUnauthorized):
		text = "the service does not accept the personal API key (401)"
		return fault(shell.CodeProject, "check POSTHOG_PERSONAL_API_KEY (phx_…), and that --host is the project's region")
	case errors.Is(err, hogapi.ErrForbidden):
		text = strings.ReplaceAll(text, "access to this project", "access to project "+a.project())
		return fault(shell.CodeProject, "give the key the scope that is named, or ask an admin of the project for one")
	case errors.Is(err, hogapi.ErrNotFound) && isAnswer && answer.Detail == "Project not found.":
		text = "project " + a.project() + " is not at " + a.address()
		return fault(shell.CodeProject, "check --project-id and --host")
	case errors.Is(err, hogapi.ErrNotFound):
		return fault(shell.CodeProject, "check --project-id, --host and the export: see hogexport list")
	case errors.Is(err, reconcile.ErrMaxBytesRead):
		return fault(shell.CodeCannot, "run again with a larger --max-read, or later within a day: the progress is kept")
	case errors.Is(err, hogapi.ErrInvalid):
		return fault(shell.CodeUsage, "")
	case isAnswer && answer.StatusCode >= 500:
		return fault(shell.CodeOther, "the service failed: run the same command again later")
	case isUnreachable:
		return fault(shell.CodeOther, "check --host, the network and the name server, and run the same command again")
	}
	return fault(shell.CodeOther, "")
}

// address is the host that was given, without anything else of its URL.
func (a *app) address() string {
	host := cmp.Or(a.host, a.Env("POSTHOG_HOST"), a.Env("POSTHOG_REGION"))
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		return u.Host
	}
	return host
}
