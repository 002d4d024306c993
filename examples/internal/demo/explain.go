package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi"
)

// Explain says what went wrong and what to do about it.
func Explain(err error) string {
	if todo := advice(err); todo != "" {
		return fmt.Sprintf("\nThat did not work.\n\nWhat to do: %s\n\nWhat happened: %v", todo, err)
	}
	return fmt.Sprintf("\nThat did not work: %v", err)
}

func advice(err error) string {
	stop, stopped := errors.AsType[*hogapi.StopError](err)
	input, refused := errors.AsType[*hogapi.InputError](err)
	_, unreachable := errors.AsType[*hogapi.TransportError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "You stopped it. Start it again to continue."
	case stopped && (stop.Reason == hogapi.StopWrongKey || stop.Reason == hogapi.StopUnauthorized):
		return "Set " + ProjectKey + " to the project API key (phc_…) from the project's settings. A key belongs to one region:\n" +
			"set POSTHOG_REGION to that region."
	case errors.Is(err, hogapi.ErrQuota):
		return "The plan's limit is reached: see the billing page of your organisation."
	case stopped:
		return "" // the error itself says what to do
	case errors.Is(err, hogapi.ErrOutcomeUnknown):
		return "Look at the service before you run this again: the last call may have taken effect."
	case errors.Is(err, hogapi.ErrUnauthorized):
		return "Set " + PersonalKey + " to a personal API key (phx_…): make one in your account's settings, under personal API keys.\n" +
			"A key belongs to one region: POSTHOG_REGION must be that one. To try the examples without any key, unset it."
	case errors.Is(err, hogapi.ErrForbidden):
		return "Edit the personal API key in your account's settings: it needs the scope that is named below, and access to the project\n" +
			"POSTHOG_PROJECT_ID."
	case errors.Is(err, hogapi.ErrNotFound):
		return "Check POSTHOG_PROJECT_ID, the number in the address of your project, and POSTHOG_REGION."
	case errors.Is(err, hogapi.ErrTooManyBackfills):
		return "Wait until a running backfill has ended, then start this again."
	case errors.Is(err, hogapi.ErrRateLimited), errors.Is(err, hogapi.ErrServer):
		return "Start it again in some minutes: the service is busy or has a fault."
	case unreachable:
		return "Check the network, POSTHOG_REGION and POSTHOG_HOST: the service did not answer."
	case refused && input.Op == "":
		return "Set these environment variables, or none of them to work with a fake of the service:\n\n" + variables
	}
	return ""
}

const variables = `  POSTHOG_REGION            us or eu; or POSTHOG_HOST for a server of your own
  POSTHOG_PROJECT_ID        the project's number
  POSTHOG_PERSONAL_API_KEY  phx_…, for exports, runs and dashboards
  POSTHOG_PROJECT_API_KEY   phc_…, for the import of events`
