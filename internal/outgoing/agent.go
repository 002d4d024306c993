package outgoing

import (
	"runtime/debug"
	"strings"
	"sync"
)

const modulePath = "github.com/hogapi/hogapi"

// Version is the version of this module in the running program, or "devel".
var Version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "devel"
})

// UserAgent names the program, if it has a name, and this module.
func UserAgent(app string) string {
	agent := "hogapi-go/" + Version()
	if app != "" {
		agent = app + " " + agent
	}
	return agent
}
