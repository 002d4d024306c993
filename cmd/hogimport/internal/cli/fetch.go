package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/fetch"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
)

type fetchFlags struct {
	from, to string
	region   string
	host     string
	most     int64 // GiB
}

const fetchHelp = `Download the raw export of another tool, in complete parts.

A part is read to its end before it gets its name in the folder, so every file
there can be imported. After Ctrl-C, a crash or a kill, the same command
downloads the missing parts. Rate limits are obeyed, and waits are shown.`

const fetchExample = `  hogimport fetch mixpanel --from 2023-01-01 --to 2024-03-31 export
  hogimport fetch amplitude --region eu --from 2023-01-01 --to 2024-03-31 export`

func newFetchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fetch", Short: "Download the export of Mixpanel or Amplitude, resumably", Long: fetchHelp, Example: fetchExample,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return shell.UsageError("the tool to fetch from is missing", "give mixpanel or amplitude: see "+cmd.CommandPath()+" --help")
		},
	}
	cmd.AddCommand(newFetchMixpanelCommand(a), newFetchAmplitudeCommand(a))
	return cmd
}

// folderOnly requires one folder as the arguments of a command.
func folderOnly(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return shell.UsageError(fmt.Sprintf("want one folder for the files of the export, got %d arguments", len(args)), "give a new folder, such as export")
}

func (f *fetchFlags) bind(cmd *cobra.Command, regions string) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the first `DAY` of the export, such as 2024-01-01")
	flags.StringVar(&f.to, "to", "", "the last `DAY` of the export, included")
	flags.StringVar(&f.region, "region", "us", "where the project's data is, a `REGION`: "+regions)
	const most = 64
	flags.Int64Var(&f.most, "max-gib", most, "the maximum `GIB` of one run; 0: no limit")
	flags.StringVar(&f.host, "export-host", "", "the `URL` of a server in place of the region's, such as a proxy of your own")
}

const fetchMixpanelExample = `  export MIXPANEL_SERVICE_ACCOUNT=…   # or MIXPANEL_API_SECRET alone
  export MIXPANEL_SERVICE_ACCOUNT_SECRET=…
  export MIXPANEL_PROJECT_ID=1234567
  hogimport fetch mixpanel --from 2023-01-01 --to 2024-03-31 export
  hogimport plan export/mixpanel-*.json.gz --write migration.yaml`

func newFetchMixpanelCommand(a *app) *cobra.Command {
	var (
		f          fetchFlags
		m          fetch.Mixpanel
		secretFile string
		zone       string
		isAgain    bool
	)
	cmd := &cobra.Command{
		Use: "mixpanel DIR", Short: "Download the raw events of a Mixpanel project", Example: fetchMixpanelExample, Args: folderOnly,
		Long: fetchHelp + `

Mixpanel allows 60 requests an hour, and each request downloads one file. A file
has one day, or up to 31 days with --days. A day that is not over is left out,
and named. Events of phones that were offline arrive up to 5 days later: --again
downloads such days again.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			m.Region, m.Host = f.region, f.host
			m.ServiceAccount = cmp.Or(m.ServiceAccount, a.Env("MIXPANEL_SERVICE_ACCOUNT"))
			m.Project = cmp.Or(m.Project, a.Env("MIXPANEL_PROJECT_ID"))
			variable := "MIXPANEL_SERVICE_ACCOUNT_SECRET"
			if m.ServiceAccount == "" {
				variable = "MIXPANEL_API_SECRET"
			}
			if m.Secret, err = a.Secret("--secret-file", "", secretFile, variable); err != nil {
				return err
			}
			if zone != "" {
				if m.Zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
					return shell.UsageError(fmt.Sprintf("--zone %q is not known", zone), "give a name such as US/Pacific or Europe/Berlin")
				}
			}
			return a.fetch(cmd.Context(), m, &f, args[0], input{Choices: history.Choices{Format: "mixpanel", Zone: zone}}, isAgain)
		},
	}
	f.bind(cmd, "us, eu or in")
	flags := cmd.Flags()
	flags.StringVar(&m.ServiceAccount, "service-account", "", "the `NAME` of a service account; or MIXPANEL_SERVICE_ACCOUNT")
	flags.StringVar(&secretFile, "secret-file", "", "a `FILE` with the secret, of the service account or else of the project; better in the environment: MIXPANEL_SERVICE_ACCOUNT_SECRET, MIXPANEL_API_SECRET")
	flags.StringVar(&m.Project, "mixpanel-project", "", "the `NUMBER` of the project; or MIXPANEL_PROJECT_ID")
	flags.StringVar(&zone, "zone", "", "the time zone of a project made before 2023, such as `US/Pacific`, in which its days end. Give it to check and run too")
	flags.IntVar(&m.Days, "days", 1, "the number of `DAYS` in a file, up to 31")
	flags.BoolVar(&isAgain, "again", false, "download again the days to which events may have been added since")
	return cmd
}

const fetchAmplitudeExample = `  export AMPLITUDE_API_KEY=… AMPLITUDE_SECRET_KEY=…
  hogimport fetch amplitude --from 2023-01-01 --to 2024-03-31 export
  hogimport plan export/amplitude-*.zip --write migration.yaml`

func newFetchAmplitudeCommand(a *app) *cobra.Command {
	var (
		f                   fetchFlags
		v                   fetch.Amplitude
		keyFile, secretFile string
	)
	cmd := &cobra.Command{
		Use: "amplitude DIR", Short: "Download the events of an Amplitude project", Example: fetchAmplitudeExample, Args: folderOnly,
		Long: fetchHelp + `

A day has the events that reached Amplitude on that day in UTC, up to two hours
ago. A day that is too large for one answer is downloaded in pieces, down to an
hour.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			v.Region, v.Host = f.region, f.host
			if v.APIKey, err = a.Secret("--api-key-file", "", keyFile, "AMPLITUDE_API_KEY"); err != nil {
				return err
			}
			if v.SecretKey, err = a.Secret("--secret-key-file", "", secretFile, "AMPLITUDE_SECRET_KEY"); err != nil {
				return err
			}
			return a.fetch(cmd.Context(), v, &f, args[0], input{Choices: history.Choices{Format: "amplitude"}}, false)
		},
	}
	f.bind(cmd, "us or eu")
	flags := cmd.Flags()
	flags.StringVar(&keyFile, "api-key-file", "", "a `FILE` with the API key; better in the environment: AMPLITUDE_API_KEY")
	flags.StringVar(&secretFile, "secret-key-file", "", "a `FILE` with the secret key; better in the environment: AMPLITUDE_SECRET_KEY")
	return cmd
}

func (f *fetchFlags) days() (from, to time.Time, err error) {
	for _, d := range []struct {
		flag, text string
		at         *time.Time
	}{{"--from", f.from, &from}, {"--to", f.to, &to}} {
		if d.text == "" {
			return from, to, shell.UsageError(d.flag+" is missing", "give --from and --to, the first and the last day, such as 2024-01-01")
		}
		if *d.at, err = time.Parse(time.DateOnly, d.text); err != nil {
			return from, to, shell.UsageError(fmt.Sprintf("%s %q is not a day", d.flag, d.text), "give a day such as 2024-01-01")
		}
	}
	return from, to, nil
}

func (a *app) fetch(ctx context.Context, v fetch.Vendor, f *fetchFlags, dir string, read input, isAgain bool) error {
	from, to, err := f.days()
	if err != nil {
		return err
	}
	most := int64(-1) // no limit
	if f.most > 0 {
		most = min(f.most, 1<<20) << 30
	}
	meter := &fetchMeter{Meter: a.Meter(), app: a}
	sum, err := fetch.Job{Vendor: v, From: from, To: to, Folder: dir, Again: isAgain, Progress: meter, MaxBytes: most}.Run(ctx)
	meter.End()
	if sum.Parts > 0 {
		if failed := a.showFetched(sum, f, dir, read, err == nil); err == nil {
			err = failed
		}
	}
	return fetchFault(err)
}

func (a *app) showFetched(sum fetch.Summary, f *fetchFlags, dir string, read input, isAll bool) error {
	pattern := filepath.Join(dir, sum.Pattern)
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"folder": dir, "files": pattern, "from": f.from, "to": f.to, "complete": isAll, "parts": sum.Parts, "fetched": sum.Fetched,
			"empty": sum.Empty, "events": sum.Events, "bytes": sum.Bytes, "early": sum.Early,
		})
	}
	text := fmt.Sprintf("%s has %s in %s, %s.", dir, counted(sum.Events, "event"), counted(int64(sum.Parts), "file"), progress.Bytes(sum.Bytes))
	if sum.Empty > 0 {
		text += fmt.Sprintf(" Files without an event: %s.", progress.Number(int64(sum.Empty)))
	}
	fmt.Fprintln(a.Out, term.Flow(text))
	if isAll && sum.Events == 0 {
		fmt.Fprintln(a.Out, term.Flow("There is no event in all of the range: check the dates, the project and "+fetch.HostFlag(f.host)+"."))
		return nil
	}
	if n := len(sum.Early); n > 0 {
		fmt.Fprintln(a.Out, term.Flow(fmt.Sprintf("Events can still be added to %s to %s. Run the same command with --again after %s to download these days again.",
			sum.Early[0].First, sum.Early[n-1].Last, sum.Final.UTC().Format(time.DateOnly))))
	}
	if isAll {
		fmt.Fprintln(a.Out, "Next:\n"+term.Command("    hogimport plan "+shell.Quoted(pattern)+" "+strings.TrimSpace(commandLine(read))+planOutput("migration.yaml").Free(nil)))
	}
	return nil
}

func fetchFault(err error) error {
	p, isProblem := errors.AsType[*fetch.Problem](err)
	if !isProblem {
		return err
	}
	codes := map[fetch.Kind]shell.Code{
		fetch.KindOptions: shell.CodeUsage, fetch.KindKey: shell.CodeProject, fetch.KindStopped: shell.CodeStopped, fetch.KindNotYet: shell.CodeCannot,
	}
	return &shell.Fault{Code: cmp.Or(codes[p.Kind], shell.CodeOther), Text: p.Text, Todo: p.Todo, Err: err}
}

// counted returns a number with its noun, such as "1 file" or "2 files".
func counted(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return progress.Number(n) + " " + thing
}

// fetchMeter shows a download: in one line on a terminal, otherwise with a line a minute, and each wait at
// once.
type fetchMeter struct {
	*progress.Meter
	app    *app
	logged time.Time
}

// Show implements fetch.Progress. It gives programs numbers, once a minute.
func (m *fetchMeter) Show(s fetch.Steps) {
	if m.app.Log != "json" {
		m.Phase(fmt.Sprintf("%s of %s %s, %s, %s", progress.Number(int64(s.Held)), progress.Number(int64(s.Total)), s.Unit, progress.Bytes(s.Bytes), s.Doing))
		return
	}
	if now := time.Now(); now.Sub(m.logged) >= time.Minute {
		m.logged = now
		m.app.Logger().Info("progress", "doing", s.Doing, "unit", s.Unit, "total", s.Total, "there", s.Held, "events", s.Events, "bytes", s.Bytes)
	}
}
