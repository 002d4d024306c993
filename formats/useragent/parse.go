package useragent

import (
	"slices"
	"strings"

	library "github.com/mileusna/useragent"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
)

// longest is the number of bytes that are read of an agent. Browsers' agents have at most a few hundred.
const longest = 1 << 10

// Parse reads a user agent. It gives the values that posthog-js would send from that browser; of an agent that is neither a browser
// nor names a system, all texts are empty. It reads the first 1,024 bytes, which need not be UTF-8.
func Parse(userAgent string) formats.Agent {
	userAgent = shortened(userAgent)
	if userAgent == "" {
		return formats.Agent{}
	}
	agent := agent{text: userAgent, lower: strings.ToLower(userAgent), parsed: library.Parse(userAgent)}
	a := formats.Agent{IsBot: agent.isBot()}
	a.OS, a.OSVersion = agent.system()
	a.Browser = agent.browser(a.OS)
	a.BrowserVersion = agent.version(a.Browser)
	a.DeviceType = agent.device(a.OS)
	if a.DeviceType == "" && a.OS != android && (a.OS != "" || a.Browser != "") {
		a.DeviceType = "Desktop"
	}
	return a
}

func shortened(userAgent string) string {
	if len(userAgent) > longest {
		userAgent = userAgent[:longest]
	}
	return strings.TrimSpace(userAgent)
}

// agent is a user agent, and the library's reading of it.
type agent struct {
	text, lower string
	parsed      library.UserAgent
}

// has reports whether the agent has one of some texts.
func (a agent) has(texts ...string) bool { return containsAny(a.text, texts) }

// hasFold is has for texts in small letters, which the agent may write in any case.
func (a agent) hasFold(texts ...string) bool { return containsAny(a.lower, texts) }

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// bots are parts of the names of programs without a person that the library takes for browsers.
var bots = []string{
	"bot/", "bot;", "bot ", "bot)", "bot-", "bot.", "crawler", "spider", "slurp", "headless", "lighthouse", "prerender", "facebookexternal",
	"bingpreview", "mediapartners-google", "ia_archiver", "google-inspectiontool", "googleother", "chatgpt-user", "phantomjs",
}

func (a agent) isBot() bool { return a.parsed.Bot || a.hasFold(bots...) }

// after is the text of the number behind the first of some marks that has one: 17.2 for "Version/17.2.1" and the mark "Version/".
func (a agent) after(marks ...string) string {
	for _, mark := range marks {
		for rest := a.text; ; {
			_, behind, isThere := strings.Cut(rest, mark)
			if !isThere {
				break
			}
			if n := record.Decimal(behind); n != "" {
				return n
			}
			rest = behind
		}
	}
	return ""
}
