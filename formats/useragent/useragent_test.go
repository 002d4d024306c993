package useragent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
)

const chromeOnWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"

func TestParse(t *testing.T) {
	t.Parallel()
	const mac, webKit = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ", "AppleWebKit/605.1.15 (KHTML, like Gecko) "
	const blink, iPhone = "AppleWebKit/537.36 (KHTML, like Gecko) ", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2_1 like Mac OS X) "
	const phone = "Mozilla/5.0 (Linux; Android 10; K) "
	for agent, want := range map[string]formats.Agent{
		chromeOnWindows: {Browser: "Chrome", BrowserVersion: "120", OS: "Windows", OSVersion: "10", DeviceType: "Desktop"},
		mac + webKit + "Version/17.2 Safari/605.1.15": {
			Browser: "Safari", BrowserVersion: "17.2", OS: "Mac OS X", OSVersion: "10.15.7", DeviceType: "Desktop",
		},
		iPhone + webKit + "Version/17.2 Mobile/15E148 Safari/604.1": {
			Browser: "Mobile Safari", BrowserVersion: "17.2", OS: "iOS", OSVersion: "17.2.1", DeviceType: "Mobile",
		},
		iPhone + webKit + "CriOS/120.0.6099.119 Mobile/15E148 Safari/604.1": {
			Browser: "Chrome iOS", BrowserVersion: "120", OS: "iOS", OSVersion: "17.2.1", DeviceType: "Mobile",
		},
		iPhone + webKit + "FxiOS/121.0 Mobile/15E148 Safari/605.1.15": {
			Browser: "Firefox iOS", BrowserVersion: "121", OS: "iOS", OSVersion: "17.2.1", DeviceType: "Mobile",
		},
		iPhone + webKit + "Mobile/15E148": {Browser: "Mobile Safari", OS: "iOS", OSVersion: "17.2.1", DeviceType: "Mobile"},
		iPhone + webKit + "Mobile/15E148 Instagram 310.0.3.30.112 (iPhone14,5; iOS 17_2_1; en_US)": {
			Browser: "Mobile Safari", OS: "iOS", OSVersion: "17.2.1", DeviceType: "Mobile",
		},
		"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) " + webKit + "Version/16.6 Mobile/15E148 Safari/604.1": {
			Browser: "Mobile Safari", BrowserVersion: "16.6", OS: "iOS", OSVersion: "16.6.0", DeviceType: "Tablet",
		},
		phone + blink + "Chrome/120.0.0.0 Mobile Safari/537.36": {Browser: "Chrome", BrowserVersion: "120", OS: "Android", DeviceType: "Mobile"},
		phone + blink + "Chrome/120.0.0.0 Safari/537.36":        {Browser: "Chrome", BrowserVersion: "120", OS: "Android", DeviceType: "Tablet"},
		phone + blink + "SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36": {
			Browser: "Samsung Internet", BrowserVersion: "23", OS: "Android", DeviceType: "Mobile",
		},
		phone + blink + "Chrome/120.0.0.0 Mobile Safari/537.36 EdgA/119.0.0.0": {
			Browser: "Chrome", BrowserVersion: "120", OS: "Android", DeviceType: "Mobile",
		},
		chromeOnWindows + " Edg/120.0.2210.91": {
			Browser: "Microsoft Edge", BrowserVersion: "120", OS: "Windows", OSVersion: "10", DeviceType: "Desktop",
		},
		chromeOnWindows + " OPR/106.0.0.0": {Browser: "Opera", BrowserVersion: "106", OS: "Windows", OSVersion: "10", DeviceType: "Desktop"},
		"Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0": {
			Browser: "Firefox", BrowserVersion: "121", OS: "Linux", DeviceType: "Desktop",
		},
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + blink + "Chrome/120.0.0.0 Safari/537.36": {
			Browser: "Chrome", BrowserVersion: "120", OS: "Chrome OS", DeviceType: "Desktop",
		},
		"Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko": {
			Browser: "Internet Explorer", BrowserVersion: "11", OS: "Windows", OSVersion: "10", DeviceType: "Desktop",
		},
		phone + blink + "Chrome/120.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": {
			Browser: "Chrome", BrowserVersion: "120", OS: "Android", DeviceType: "Mobile", IsBot: true,
		},
		"Mozilla/5.0 (X11; Linux x86_64) " + blink + "HeadlessChrome/120.0.0.0 Safari/537.36": {
			Browser: "Chrome", BrowserVersion: "120", OS: "Linux", DeviceType: "Desktop", IsBot: true,
		},
		"Dalvik/2.1.0 (Linux; U; Android 9; SM-G960F Build/PPR1.180610.011)": {OS: "Android"},
		"Googlebot/2.1 (+http://www.google.com/bot.html)":                    {IsBot: true},
		// of which nothing is known
		"": {}, " \n": {}, "okhttp/4.9.3": {}, "curl/8.5.0": {}, "Go-http-client/2.0": {}, "x": {}, "/": {}, "((((": {}, "\xff\xfe\xfd": {},
	} {
		assert.Equal(t, want, Parse(agent), agent)
	}
}

// The share of posthog-js's own agents that get its values. Of an agent without a browser and a system, posthog-js says that it is a
// desktop: such agents have no type here, and are not counted for it.
func TestAgreement(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/agents.tsv")
	require.NoError(t, err)
	names := []string{"browser", "version of the browser", "system", "version of the system", "type of the device"}
	equal, all, unknown := make([]int, len(names)), 0, 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		want := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, want, 6)
		a := Parse(want[5])
		all++
		if want[0] == "" && want[2] == "" && want[4] == "Desktop" {
			unknown++
			assert.Equal(t, formats.Agent{IsBot: a.IsBot}, a, want[5])
			continue
		}
		for i, got := range []string{a.Browser, a.BrowserVersion, a.OS, a.OSVersion, a.DeviceType} {
			if got == want[i] {
				equal[i]++
			} else {
				t.Logf("%s: want %q, got %q: %s", names[i], want[i], got, want[5])
			}
		}
	}
	assert.Equal(t, 601, all)
	known := all - unknown
	for i, name := range names {
		t.Logf("%s: %d of %d (%.1f %%), without %d of which nothing is known", name, equal[i], known, 100*float64(equal[i])/float64(known), unknown)
	}
	assert.Equal(t, known, equal[0], names[0])
	assert.Equal(t, known, equal[1], names[1])
	assert.Equal(t, known, equal[2], names[2])
	assert.GreaterOrEqual(t, equal[3], known*99/100, names[3])
	assert.GreaterOrEqual(t, equal[4], known*97/100, names[4])
}

func TestBots(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "facebookexternalhit/1.1", "Mozilla/5.0 (compatible; AhrefsBot/7.0)",
		chromeOnWindows + " Chrome-Lighthouse", "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "Twitterbot/1.0",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.0)", "Baiduspider", "Sogou web spider/4.0", "Mediapartners-Google",
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "LinkedInBot/1.0", "Mozilla/5.0 (compatible; Yahoo! Slurp)",
	} {
		assert.True(t, Parse(agent).IsBot, agent)
	}
	assert.False(t, Parse(chromeOnWindows).IsBot)
	assert.False(t, Parse("Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36").IsBot)
}

// Only the beginning of a long agent is read, and remembered.
func TestLongAgent(t *testing.T) {
	t.Parallel()
	long := chromeOnWindows + strings.Repeat(" (Windows/", 100_000)
	assert.Equal(t, Parse(chromeOnWindows), Parse(long))
	assert.Equal(t, Parse(chromeOnWindows), Cached(10)(long))
	c := &cache{limit: 1, young: map[string]formats.Agent{}}
	c.parse(long)
	for key := range c.young {
		assert.LessOrEqual(t, len(key), longest)
	}
	assert.Empty(t, Parse(strings.Repeat("é", 1<<19)))
	assert.Empty(t, Parse(strings.Repeat("\x00", 1<<20)))
}

func TestCached(t *testing.T) {
	t.Parallel()
	for _, size := range []int{-1, 0, 1, 2, 3, 10, 1000} {
		parse := Cached(size)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for i := range 100 {
					agent := fmt.Sprintf("%s Edg/%d.5", chromeOnWindows, i%20)
					assert.Equal(t, Parse(agent), parse(agent))
				}
			})
		}
		wait.Wait()
	}
}

// A full cache forgets the agents that were not asked for lately, and never has more than its size.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	const size = 10
	c := &cache{limit: size / 2, young: map[string]formats.Agent{}}
	for i := range 1000 {
		c.parse(chromeOnWindows)
		c.parse(fmt.Sprint("agent/", i))
		assert.LessOrEqual(t, len(c.young)+len(c.old), size)
		_, isYoung := c.young[chromeOnWindows]
		_, isOld := c.old[chromeOnWindows]
		assert.True(t, isYoung || isOld, i)
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/agents.tsv")
	require.NoError(f, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; n%20 == 0 {
			f.Add(line[strings.LastIndexByte(line, '\t')+1:])
		}
	}
	for _, agent := range []string{"", "(", "Android ", "Android;", "Android 1.", "Watch4,3/", "Xbox; Xbox ", "Edg/Edg/", " OS ", "OS 1_", "\xff"} {
		f.Add(agent)
	}
	parse := Cached(100)
	f.Fuzz(func(t *testing.T, agent string) {
		a := Parse(agent)
		if again := parse(agent); again != a {
			t.Fatalf("%q: %v, and then %v", agent, a, again)
		}
		if a.BrowserVersion != "" && !json.Valid([]byte(a.BrowserVersion)) {
			t.Fatalf("%q: the version %s is no number", agent, a.BrowserVersion)
		}
		if utf8.ValidString(agent) && len(agent) < longest && !utf8.ValidString(a.OSVersion) {
			t.Fatalf("%q: the version of the system is not UTF-8: %q", agent, a.OSVersion)
		}
		if a.Browser == "" && a.BrowserVersion != "" || a.OS == "" && a.OSVersion != "" {
			t.Fatalf("%q: a version without a name: %v", agent, a)
		}
	})
}
