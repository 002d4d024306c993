package shell

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Secret returns a key: the flag's value, the content of a file, or the value of a variable.
func (a *App) Secret(flag, value, file, variable string) (string, error) {
	if name, isFile := strings.CutPrefix(value, "@"); isFile {
		file, value = name, ""
	}
	if value != "" || file == "" {
		return strings.TrimSpace(cmp.Or(value, a.Env(variable))), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", UsageError(fmt.Sprintf("%s: the file with the key cannot be read: %v", flag, err), "give a file that contains only the key")
	}
	return strings.TrimSpace(string(text)), nil
}

// Hosts returns the options for the host of a flag or of the environment, read as hogapi.FromEnv reads it.
func (a *App) Hosts(flag, capture string) ([]hogapi.Option, error) {
	var options []hogapi.Option
	if capture != "" {
		options = append(options, hogapi.WithCaptureURL(capture))
	}
	inEnv, regionInEnv := a.Env("POSTHOG_HOST"), a.Env("POSTHOG_REGION")
	host := cmp.Or(flag, inEnv, regionInEnv)
	region, url := outgoing.ReadHost(host)
	switch other, _ := outgoing.ReadHost(regionInEnv); {
	case host == "" && capture != "":
		return options, nil
	case host == "":
		return nil, UsageError("the project's host is missing", "give --host us or --host eu, or the URL of a server of your own; or set POSTHOG_HOST")
	case flag == "" && inEnv != "" && regionInEnv != "" && other != region:
		return nil, UsageError("POSTHOG_HOST and POSTHOG_REGION contradict each other", "unset one of them")
	case region != "":
		return append(options, hogapi.WithRegion(hogapi.Region(region))), nil
	case !strings.Contains(host, "://"):
		what := "--host"
		if flag == "" {
			what = "POSTHOG_HOST"
		}
		return nil, UsageError(fmt.Sprintf("%s %q is neither a region nor a URL", what, host), "give us, eu, or a URL such as https://posthog.example.com")
	}
	return append(options, hogapi.WithBaseURL(url)), nil
}

// CheckKeys looks for keys among the arguments, which all users of the machine can see in its list of processes.
func (a *App) CheckKeys(args []string) error {
	isShown := false
	for _, arg := range args {
		value := arg
		if strings.HasPrefix(arg, "--") {
			_, value, _ = strings.Cut(arg, "=")
		}
		if _, err := os.Stat(value); err == nil {
			continue // the name of a file
		}
		if strings.HasPrefix(value, "phx_") {
			return UsageError("a personal API key is among the arguments, where every user of this machine can see it",
				"put it into POSTHOG_PERSONAL_API_KEY, or into a file and give --personal-key-file FILE. If others use this machine, make a new key in PostHog and delete this one")
		}
		isShown = isShown || strings.HasPrefix(value, "phc_")
	}
	if isShown {
		a.Warn("the project API key is among the arguments, where every user of this machine can see it: better POSTHOG_PROJECT_API_KEY, --project-key-file FILE, or --project-key @FILE")
	}
	return nil
}
