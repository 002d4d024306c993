package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reconcile"
)

// reports returns the pages that hogimport writes, by name: of a check with every finding, of a check without findings, of a complete
// import, and of one that lacks events.
func reports(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "hogimport")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir, build.Env = filepath.Join("..", "..", "cmd", "hogimport"), append(os.Environ(), "GOWORK=")
	built, err := build.CombinedOutput()
	require.NoError(t, err, "%s", built)
	server := hogapitest.New()
	t.Cleanup(server.Close)
	run := func(code int, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"POSTHOG_HOST=" + server.URL(), "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject,
			"POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey, "POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey,
		}
		out, _ := cmd.CombinedOutput()
		require.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %s", args, out)
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	pacific, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	write("bad.jsonl", export(3000, pacific, true))
	write("good.jsonl", export(1500, time.UTC, false))
	write("visits.jsonl", visits(20_000))
	for i := range 900 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: [16]byte{1, byte(i), byte(i >> 8)}, Event: "live", DistinctID: "x", Time: time.Date(2024, 5, 1, 2*i, 0, 0, 0, time.UTC),
		})
	}
	run(3, "check", "bad.jsonl", "--format", "mixpanel", "--report", "check-bad.html")
	run(0, "check", "visits.jsonl", "--report", "check-web.html")
	run(0, "check", "good.jsonl", "--format", "mixpanel", "--until", "2024-04-01", "--report", "check-good.html")
	run(0, "run", "good.jsonl", "--format", "mixpanel", "--yes", "--rate", "none", "--import-id", "good")
	run(0, "verify", "--report", "verify-complete.html")
	server.Project(hogapitest.DefaultProject).LoseEvents("good", 23)
	for range 2 {
		past(t, filepath.Join(dir, "hogimport-state", "good"))
		run(7, "verify", "--report", "verify-arriving.html")
	}
	past(t, filepath.Join(dir, "hogimport-state", "good"))
	run(6, "verify", "--report", "verify-missing.html")
	pages := map[string]string{"reconcile": filepath.Join(dir, "reconcile.html")}
	page, err := reconciled().HTML()
	require.NoError(t, err)
	write("reconcile.html", string(page))
	for _, name := range []string{"check-bad", "check-good", "check-web", "verify-complete", "verify-arriving", "verify-missing"} {
		pages[name] = filepath.Join(dir, name+".html")
	}
	return pages
}

// reconciled returns a report with rows of each class, and with hostile names.
func reconciled() *reconcile.Report {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &reconcile.Report{
		Service: "PostHog project 1", Destination: "Postgres table analytics.events, team 1", From: from, To: from.AddDate(0, 6, 0), CheckedAt: from.AddDate(0, 6, 1),
		Verdict: reconcile.Incomplete, Counts: map[reconcile.Class]int64{}, Notes: []string{"A note."}, Queries: [2]int{7, 8},
		Unknown: []reconcile.Unknown{{Part: reconcile.Part{From: from, To: from.AddDate(0, 0, 1)}, Rows: 1234, Why: "the answer may lack rows"}},
	}
	for i := range 180 {
		day := from.AddDate(0, 0, i)
		d := reconcile.Day{Day: day.Format(time.DateOnly), Counts: map[reconcile.Class]int64{reconcile.Delivered: int64(1000 * i), reconcile.Filtered: 17}}
		if i%18 == 3 {
			class := reconcile.Classes[i/18%len(reconcile.Classes)]
			d.Counts[class] += 2
			r.Findings = append(r.Findings, reconcile.Finding{
				Class: class, Day: day, UUID: [16]byte{byte(i)}, Event: `<img src=x onerror="document.title='hacked'">`,
				DistinctID: strings.Repeat("supercalifragilistic", 9), Rows: 2, Why: "event \"x\" there",
			})
		}
		for class, n := range d.Counts {
			r.Counts[class] += n
		}
		r.Days = append(r.Days, d)
	}
	return r
}

// visits returns events of sessions, with large numbers and long names, and some that break PostHog's rules.
func visits(n int) string {
	var b strings.Builder
	for i := range n {
		visit := i / 20
		begin := time.Date(2022, 11, 3, 0, 0, 0, 0, time.UTC).Add(time.Duration(visit) * 12 * time.Hour)
		session := fmt.Sprintf("%08x-%04x-7000-8000-%012x", begin.UnixMilli()>>16, begin.UnixMilli()&0xffff, visit)
		if visit%97 == 0 {
			session = "session " + strings.Repeat("x", visit)
		}
		page := []string{"", "pricing", strings.Repeat("a-long-name-of-a-page", visit%7), "docs/<b>bold</b>"}[visit%4]
		fmt.Fprintf(&b, `{"event":"$pageview","distinct_id":"user-%d","timestamp":%q,"properties":{"$session_id":%q,"$current_url":"https://shop.example/%s","$referring_domain":%q,`+
			`"$geoip_country_code":%q,"price":%s}}`+"\n", visit%211, begin.Add(time.Duration(i%20)*time.Minute).Format(time.RFC3339), session, page,
			[]string{"www.google.com", "$direct", "t.co"}[visit%3], []string{"DE", "a country <i>without</i> a code"}[visit%2], []string{"1", `"free"`}[i%2])
	}
	return b.String()
}

// export returns an export of Mixpanel in the time of a zone. A bad one has everything that a check can find.
func export(n int, zone *time.Location, isBad bool) string {
	var b strings.Builder
	names := []string{
		"$mp_web_page_view", "$mp_web_page_view", "$mp_web_page_view", "Search", "Search", "Sign up", "Add to cart", "Order placed", "Invite sent",
		"Plan upgraded", "Setting changed", "Checkout started",
	}
	if isBad {
		names = append(names, `<img src=x onerror="document.title='hacked'">`, "</style><script>document.title='hacked'</script>", "a name without a blank "+strings.Repeat("supercalifragilistic", 6), "\u202egnp.exe")
	}
	begin := time.Date(2022, 11, 3, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := begin.Add(time.Duration(i) * (650 * 24 * time.Hour / time.Duration(n)))
		if at.Year() == 2023 && at.Month() == time.July && isBad {
			continue
		}
		_, ahead := at.In(zone).Zone()
		stamp, id, insert := fmt.Sprintf(`"time":%d,`, at.Unix()+int64(ahead)), fmt.Sprintf("user-%d", i%211), fmt.Sprintf("%08x", i)
		if isBad {
			switch i % 50 {
			case 7:
				stamp = ""
			case 8:
				stamp = `"time":99999999999999,`
			case 9:
				id = "null"
			case 10, 11:
				insert = "the same"
			case 12, 13, 14:
				id = "$device:" + id
			case 15, 16:
				id += fmt.Sprintf(`","$user_id":"%s","$device_id":"d%[1]s`, id)
			case 17:
				id = ""
			}
		}
		copies := 1
		if !isBad && i%100 == 3 {
			copies = 2
		}
		line := fmt.Sprintf(`{"event":%q,"properties":{%s"distinct_id":"%s","$insert_id":%q,"$browser":"Chrome","$current_url":"https://shop.example/p/%d",`+
			`"mp_processing_time_ms":%d,"plan":"pro","cart value":%d.5,"experiment variant":"B","note":"<b>bold</b>"}}`+"\n",
			names[(i*i+i/7)%len(names)], stamp, id, insert, i, at.UnixMilli()+800, i%90)
		b.WriteString(strings.Repeat(line, copies))
	}
	return strings.ReplaceAll(b.String(), `\u202e`, "\u202e")
}

var momentInJSON = regexp.MustCompile(`"20\d\d-\d\d-\d\dT[^"]+"`)

// past changes the files of an import and its verification as if a day had passed.
func past(t *testing.T, folder string) {
	t.Helper()
	for path, only := range map[string]*regexp.Regexp{
		"receipt.json": regexp.MustCompile(`"last_acknowledged": *"[^"]+"`), filepath.Join("verify", "verify.json"): momentInJSON,
	} {
		path = filepath.Join(folder, path)
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		raw = only.ReplaceAllFunc(raw, func(m []byte) []byte {
			return momentInJSON.ReplaceAllFunc(m, func(text []byte) []byte {
				at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
				require.NoError(t, err)
				return []byte(at.Add(-24 * time.Hour).Format(`"` + time.RFC3339Nano + `"`))
			})
		})
		require.NoError(t, os.WriteFile(path, raw, 0o600))
	}
}

type view struct {
	name          string
	width, height int64
	scheme, media string
}

var views = []view{
	{"light", 1280, 900, "light", "screen"}, {"dark", 1280, 900, "dark", "screen"},
	{"phone", 390, 844, "light", "screen"}, {"phone-dark", 390, 844, "dark", "screen"}, {"narrow", 320, 640, "light", "screen"},
	{"print", 794, 1123, "dark", "print"},
}

// The pages of hogimport work in a browser: they load nothing, report no error, and nothing is wider than the screen. With
// HOGAPI_SCREENSHOTS=DIR the screenshots are kept.
func TestTheReportsInABrowser(t *testing.T) {
	program := chromiumPath(t)
	pages := reports(t)
	keep := os.Getenv("HOGAPI_SCREENSHOTS")
	if keep == "" {
		keep = t.TempDir()
	}
	allocator, end := chromedp.NewExecAllocator(
		t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)...)
	defer end()
	browser, stop := chromedp.NewContext(allocator)
	defer stop()
	require.NoError(t, chromedp.Do(browser))
	for name, path := range pages {
		backgrounds := map[string]string{}
		for _, v := range views {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				shot := look(browser, t, "file://"+path, v)
				backgrounds[v.name] = shot.background
				require.NoError(t, os.WriteFile(filepath.Join(keep, name+"-"+v.name+".png"), shot.picture, 0o600))
				if shot.pdf != nil {
					require.NoError(t, os.WriteFile(filepath.Join(keep, name+".pdf"), shot.pdf, 0o600))
				}
			})
		}
		assert.Len(t, map[string]bool{backgrounds["light"]: true, backgrounds["dark"]: true, backgrounds["print"]: true}, 3,
			"light, dark and paper have colors of their own, so the page's style is in use: %v", backgrounds)
	}
}

type shot struct {
	picture, pdf []byte
	background   string
}

// look opens a page in a new tab, and requires that all is well.
func look(browser context.Context, t *testing.T, url string, v view) (s shot) {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	defer closeTab()
	require.NoError(t, chromedp.Do(tab))
	tab, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	requests, lines := chromedp.Events(tab, network.RequestWillBeSent), chromedp.Console(tab)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		require.NoError(t, chromedp.Do(tab, steps...))
	}
	do(
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: v.width, Height: v.height, DeviceScaleFactor: 1, Mobile: v.width < 500,
			})
			return err
		}),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Media: v.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}},
			})
			return err
		}),
		chromedp.Navigate(url),
	)
	title := run(tab, t, chromedp.Title())
	assert.NotContains(t, title, "hacked")
	assert.Regexp(t, "hogimport|hogapi", title)
	assert.Empty(t, run(tab, t, chromedp.Evaluate[[]string](tooWide)), "wider than the screen")
	colors := run(tab, t, chromedp.Evaluate[[]string](`['.card', 'h1'].map(s => getComputedStyle(document.querySelector(s)))
		.flatMap(s => [s.backgroundColor, s.color])`))
	if v.media == "print" {
		assert.Equal(t, []string{"rgb(255, 255, 255)", "rgb(26, 29, 35)"}, []string{colors[0], colors[1]}, "paper is white, whatever the screen is")
		assert.Equal(t, "rgb(26, 29, 35)", colors[3])
	}
	s.background = run(tab, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
	s.picture = run(tab, t, chromedp.FullScreenshot(100))
	picture, err := png.Decode(bytes.NewReader(s.picture))
	require.NoError(t, err)
	assert.EqualValues(t, v.width, picture.Bounds().Dx(), "no wider than the screen")
	if v.media == "print" {
		s.pdf = run(tab, t, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground()))
		sheets := len(regexp.MustCompile(`/Type /Page\b[^s]`).FindAll(s.pdf, -1))
		assert.Positive(t, sheets)
		assert.Less(t, sheets, 16)
	}

	// These marks end the console output and the requests so far.
	const mark = "the end of the test"
	do(chromedp.Evaluate[chromedp.Void](`console.log("` + mark + `")`))
	for line, err := range lines {
		require.NoError(t, err)
		if line.Text == mark {
			break
		}
		assert.Fail(t, "a line in the console", "%s", line)
	}
	do(chromedp.Navigate(url + "?end"))
	for request, err := range requests {
		require.NoError(t, err)
		if strings.HasSuffix(request.Request.URL, "?end") {
			break
		}
		assert.Equal(t, url, request.Request.URL, "the page itself is all that is loaded")
	}
	if v.name == "light" {
		assert.Equal(t, "img-src", run(tab, t, chromedp.Evaluate[string](loadImage, chromedp.EvalAwaitPromise)), "the page's policy refuses what it has not itself")
	}
	return s
}

func run[T any](tab context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	result, err := chromedp.Run(tab, action)
	require.NoError(t, err)
	return result
}

const loadImage = `new Promise(done => {
	document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
	const image = new Image(); image.onload = () => done('loaded'); image.onerror = () => setTimeout(() => done('tried'), 1000);
	image.src = 'http://127.0.0.1:1/x.png'; document.body.append(image);
})`

// tooWide lists the elements that extend beyond the screen on its right or left.
const tooWide = `[...document.querySelectorAll('body *')].filter(e => {
	const r = e.getBoundingClientRect(), style = getComputedStyle(e);
	return r.width > 0 && style.visibility !== 'hidden' && (r.right > innerWidth + 1 || r.left < -1);
}).map(e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.slice(0, 40))
	.concat(document.documentElement.scrollWidth > innerWidth ? ['the page: ' + document.documentElement.scrollWidth] : [])
	.slice(0, 5)`

func chromiumPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium here (Debian: apt-get install chromium)")
	return ""
}

func chromium(t *testing.T, args ...string) string {
	t.Helper()
	program := chromiumPath(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + t.TempDir()}, args...)
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Run(), "%s", &problems)
	return out.String()
}

// hogfake starts the command and returns its address. At the end of the test it is interrupted, as with Ctrl-C.
func hogfake(t *testing.T) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hogfake")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/hogapi/hogapi/hogapitest/cmd/hogfake").CombinedOutput()
	require.NoError(t, err, "%s", built)
	cmd := exec.Command(program, "-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "it ends with 0")
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(t, url, line)
	return url
}

func TestThePageInABrowser(t *testing.T) {
	chromium(t, "--dump-dom", "about:blank") // first: it may be missing
	url := hogfake(t)
	client, err := hogapi.NewClient(
		hogapi.WithBaseURL(url), hogapi.WithProject(hogapitest.DefaultProject),
		hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
	)
	require.NoError(t, err)
	events := filepath.Join(t.TempDir(), "events.jsonl")
	record := `{"event":"<img src=x onerror=document.title='hacked'>","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}` + "\n"
	require.NoError(t, os.WriteFile(events, []byte(strings.Repeat(record, 1234)), 0o600))
	_, err = history.Import(t.Context(), client, history.JSONLines(events), &history.Options{ID: "browser", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)

	dom := chromium(t, "--dump-dom", url)
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(dom, " ")
	for _, want := range []string{"hogfake E4", "Events to the lake", "SlowDown: reduce your request rate", "2024-05-01", "1,234", "&lt;img src=x", url} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, dom, "<img", "an event's name is text")
	assert.NotContains(t, text, "not shown", "no secret of a destination")

	shot := filepath.Join(t.TempDir(), "page.png")
	chromium(t, "--window-size=1250,1600", "--hide-scrollbars", "--screenshot="+shot, url)
	file, err := os.ReadFile(shot)
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	assert.Equal(t, 1250, picture.Bounds().Dx())
	colors := map[any]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 3 {
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			colors[picture.At(x, y)] = true
		}
	}
	assert.Greater(t, len(colors), 20, "it is not a blank page")
}
