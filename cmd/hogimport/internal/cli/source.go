package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// input has the files of an import and all settings that convert them to the same events again. The state
// folder keeps it for verify, fix and undo.
type input struct {
	Files []string `json:"files"` // paths or patterns
	history.Choices

	memory  string // for the links; it changes no event
	mapping int    // its version, of an import that has begun; 0: the newest
}

func (in *input) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.Format, "format", "", "the `FORMAT` of the files, see hogimport formats; default: by the name, jsonl for *.jsonl and *.ndjson, csv for *.csv, tsv for *.tsv")
	in.bindMap(f)
	in.bindEdits(f)
	f.StringVar(&in.Zone, "zone", "", "the time zone of times without one, such as US/Pacific (a `ZONE`)")
	f.StringVar(&in.GroupType, "group-type", "", "segment, pendo: the `TYPE` of the groups, such as company")
	f.StringVar(&in.Table, "table", "", "segment-warehouse: which table the files are of, such as screens;\nheap: the `NAME` of the event of the table, such as \"Sign Up\"")
	f.StringSliceVar(&in.Numbers, "numbers", nil, "segment-warehouse, amplitude-warehouse, ga4-warehouse: further `COLUMNS`\nof CSV files with numbers, such as price,seats")
	f.BoolVar(&in.DevicePrefix, "device-prefix", false, "mixpanel: write the id of a device as \"$device:ID\";\nneeded with --links where the export has such ids: check says so")
	f.StringArrayVar(&in.Groups, "group", nil, "mixpanel: a property with keys of groups and the type of the groups,\n`PROPERTY=TYPE`, such as company_id=company")
	f.BoolVar(&in.NoVisitorProfiles, "no-visitor-profiles", false, "mixpanel, segment, rudderstack: make no persons of visitors who have not logged in")
	f.BoolVar(&in.LookUpIP, "look-up-ip", false, "mixpanel, segment, rudderstack: let PostHog look up where addresses are today")
	f.BoolVar(&in.LeavePersons, "leave-persons", false, "leave the properties of today's persons as they are:\nfor a project in use, and files without groups; see the guide")
	f.BoolVar(&in.WholeKey, "whole-key", false, "mixpanel: make uuids of event, time, distinct_id and $insert_id,\nwhere different events share an $insert_id")
	f.BoolVar(&in.Fingerprints, "fingerprints", false, "snowplow: make uuids of event_id and event_fingerprint,\nwhere different events share an event_id")
	f.StringVar(&in.NoID, "no-id", "", "mixpanel: send events that name no person as those of one person, with this `ID`")
	f.BoolVar(&in.SkipNoID, "skip-no-id", false, "mixpanel: leave out events that name no person, without a warning of check")
	f.BoolVar(&in.NamedColumns, "named-columns", false, "snowplow: the files have a header, such as rows of atomic.events")
	f.BoolVar(&in.NoIntraday, "no-intraday", false, "ga4: leave out events_intraday_ and events_fresh_ files of days\nthat have an events_ file too")
	f.BoolVar(&in.NoGoals, "no-goals", false, "matomo: leave out the goals that were reached; by default each is an event")
	f.BoolVar(&in.KeepNulls, "keep-nulls", false, "tables: NULL, null, [NULL], (null) and \\N are texts; by default they are NULLs")
	f.StringVar(&in.SetPolicy, "set-policy", "", "person properties of old events, a `POLICY`: keep, set-once or strip; default: as they are for jsonl and posthog, else as $set_once")
}

// bindHeader adds --header to a command that reads tables. A rejected row has the names of its columns.
func (in *input) bindHeader(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&in.Header, "header", nil, "the names of the `COLUMNS` of tables that have no header, such as action,user,when")
}

// bindOrder adds the flags that need all events.
func (in *input) bindOrder(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&in.Sort, "sort", false, "sort all events by time first, in the state folder: takes about the unpacked size on disk;\nthe default for posthog; --sort=false if the files are already sorted")
	f.BoolVar(&in.Links, "links", false, "first join the ids that each person had before and after the login;\nthe default for segment and rudderstack")
	in.bindLinks(cmd)
	in.bindSessions(cmd)
}

// bindUnused adds --sort, --links and --sessions to a command that sends nothing, or only a sample,
// so that the flags of run can be copied.
func (in *input) bindUnused(cmd *cobra.Command) {
	const accepted = "accepted, so that the flags of run can be copied: "
	cmd.Flags().BoolVar(&in.Sort, "sort", false, accepted+"nothing is sorted here")
	cmd.Flags().BoolVar(&in.Links, "links", false, accepted+"no ids are joined here")
	cmd.Flags().StringVar(&in.Sessions, "sessions", "", accepted+"no sessions are made here (a `SILENCE`)")
	cmd.Flags().StringVar(&in.SessionsAfter, "sessions-after", "", accepted+"no sessions are made here (a `FOLDER`)")
	in.bindLinks(cmd)
}

func (in *input) bindUntil(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.Until, "until", "", "leave out events from this `TIME` on (2024-05-01, UTC, or RFC 3339); none leaves out nothing")
}

// worded is a format with errors in the words of this program.
func worded(format history.Format) history.Format {
	if convert := format.Convert; convert != nil {
		format.Convert = func(record []byte) ([]hogapi.Event, error) {
			events, err := convert(record)
			return events, inOurWords(err)
		}
	}
	if check := format.CheckColumns; check != nil {
		format.CheckColumns = func(columns []string) error { return inOurWords(check(columns)) }
	}
	return format
}

// wordedError is an error of the library in the words of this program, which the reject file has too.
type wordedError struct{ error }

// Error implements error.
func (e wordedError) Error() string { return inFlags(e.error) }

// Unwrap returns the error.
func (e wordedError) Unwrap() error { return e.error }

func inOurWords(err error) error {
	if err == nil {
		return nil
	}
	return wordedError{err}
}

// readBy returns the flags that say how files of the format are read, for advice.
func (in *input) readBy() string {
	switch {
	case isMapped(in.Format):
		return "--format, --zone or --map"
	case in.Format == "mixpanel" || in.Format == "matomo":
		return "--format or --zone"
	}
	return "--format"
}

// isMapped reports whether --map names the columns of a format.
func isMapped(format string) bool {
	return slices.Contains([]string{"json", "csv", "tsv", "generic"}, format)
}

var personPolicies = map[string]struct {
	gate   hogapi.PersonPolicy
	vendor formats.PersonProperties
}{
	"":         {hogapi.PersonPolicyKeep, ""},
	"keep":     {hogapi.PersonPolicyKeep, formats.PersonSet},
	"set-once": {hogapi.PersonPolicySetOnce, formats.PersonSetOnce},
	"strip":    {hogapi.PersonPolicyStrip, formats.PersonNone},
}

// check finds the files and settles the format. Call it once, before the other methods.
func (in *input) check(ctx context.Context) error {
	if len(in.Files) == 0 {
		return shell.UsageError("no files are named", "name the files of the import, such as export/*.jsonl.gz")
	}
	for _, file := range in.paths() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return shell.UsageError(file+": there is no such file", "check the path; a pattern must match one file or more")
		case info.IsDir():
			return shell.UsageError(file+": this is a folder", "name its files, such as "+shell.Quoted(filepath.Join(file, "*")))
		case !info.Mode().IsRegular():
			return shell.UsageError(file+": this is not a file but a pipe or a device, which can be read only once",
				"write its content to a file first, so that an import can resume in it")
		}
	}
	if err := in.checkFormat(ctx); err != nil {
		return err
	}
	if len(in.paths()) == 0 {
		return shell.UsageError("a manifest lists files, and has no events", "name the files of the export, such as export/*.parquet")
	}
	return nil
}

// checkFormat settles the format and checks all that depends on it.
func (in *input) checkFormat(ctx context.Context) error {
	if in.Format == "" && len(in.Files) > 0 {
		paths := in.paths()
		byName := formatByName(paths[0])
		if !slices.ContainsFunc(paths, func(path string) bool { return formatByName(path) != byName }) {
			in.Format = byName
		}
		if found := in.otherFormat(ctx); isMapped(in.Format) && len(in.Map)+len(in.Header) == 0 && found != "" && !isMapped(found) {
			return shell.UsageError(fmt.Sprintf("%s looks like a file of the format %s, and --format is not given", paths[0], found),
				fmt.Sprintf("give --format %s, or --format %s with --map", found, in.Format))
		}
	}
	if _, ok := vendors[in.Format]; !ok {
		text := "the format of the files is not named"
		if in.Format != "" {
			text = fmt.Sprintf("--format %q is not known", in.Format)
		}
		return shell.UsageError(text, in.looksLike(ctx)+"Give --format with one of "+strings.Join(slices.Sorted(maps.Keys(vendors)), ", ")+"; see hogimport formats")
	}
	_, isPolicy := personPolicies[in.SetPolicy]
	switch {
	case !isPolicy:
		return shell.UsageError(fmt.Sprintf("--set-policy %q is not known", in.SetPolicy), "give keep, set-once or strip")
	case len(in.Header) > 0 && (!isMapped(in.Format) || in.Format == "json"):
		return shell.UsageError("--header is for the tables of the formats csv, tsv and generic, not for "+in.Format, "leave it out, or give --format csv")
	case in.Table != "" && in.Format != "heap" && in.Format != segmentWarehouse:
		return shell.UsageError("--table is for the formats heap and segment-warehouse, not for "+in.Format, "leave it out")
	case len(in.Numbers) > 0 && !strings.HasSuffix(in.Format, "-warehouse"):
		return shell.UsageError("--numbers is for the formats of warehouses, not for "+in.Format, "leave it out; --map has the step |number")
	case in.WholeKey && in.Format != "mixpanel":
		return shell.UsageError("--whole-key is for mixpanel, not for "+in.Format, "leave it out")
	case in.Fingerprints && in.Format != "snowplow":
		return shell.UsageError("--fingerprints is for snowplow, not for "+in.Format, "leave it out")
	case (in.NoID != "" || in.SkipNoID) && in.Format != "mixpanel":
		return shell.UsageError("--no-id and --skip-no-id are for mixpanel, not for "+in.Format, "leave them out")
	case in.NoID != "" && in.SkipNoID:
		return shell.UsageError("--no-id sends the events that --skip-no-id leaves out", "give one of the two")
	case in.NamedColumns && in.Format != "snowplow":
		return shell.UsageError("--named-columns is for snowplow, not for "+in.Format, "leave it out")
	case in.NoIntraday && !in.isGA4():
		return shell.UsageError("--no-intraday is for ga4, not for "+in.Format, "leave it out")
	case in.NoGoals && in.Format != "matomo":
		return shell.UsageError("--no-goals is for matomo, not for "+in.Format, "leave it out")
	case len(in.Map) > 0 && !isMapped(in.Format):
		return shell.UsageError("--map is for the formats json, csv, tsv and generic, not for "+in.Format, "leave it out, or give --format json")
	case in.Links && in.Format == "jsonl":
		return shell.UsageError("--links is not for jsonl: each line has one id", "leave it out, or give the --format of the files")
	}
	if err := in.checkPersons(); err != nil {
		return err
	}
	if in.Until != "" && in.Until != "none" && in.until().IsZero() {
		return shell.UsageError(fmt.Sprintf("--until %q is not a time", in.Until), "give a day of UTC such as 2024-05-01, or a time such as 2024-05-01T12:00:00Z")
	}
	if err := in.checkIntraday(); err != nil {
		return err
	}
	if err := in.checkNames(ctx); err != nil {
		return err
	}
	if err := in.checkSessions(); err != nil {
		return err
	}
	_, err := in.newFormat()
	return err
}

// keepsSet reports whether old events, which should come oldest first, replace properties of
// persons.
func (in *input) keepsSet() bool {
	return in.Format == "posthog" && (in.SetPolicy == "" || in.SetPolicy == "keep")
}

func (in *input) gate() hogapi.GateOptions {
	return hogapi.GateOptions{PersonPolicy: personPolicies[in.SetPolicy].gate}
}

// format returns the format of the files. Its Convert is nil for jsonl, in which each line is an event. The
// input must have passed check or checkFormat.
func (in *input) format() history.Format {
	format, err := in.newFormat()
	if err != nil {
		panic(err)
	}
	return format
}

func (in *input) newFormat() (history.Format, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return history.Format{}, shell.UsageError(fmt.Sprintf("--zone %q is not known", in.Zone), "give a name such as US/Pacific or Europe/Berlin")
	}
	if in.Zone == "" {
		zone = nil
	}
	v := vendors[in.Format]
	format := history.Format{Name: in.Format}
	if v.make != nil {
		format, err = v.make(in, personPolicies[in.SetPolicy].vendor, zone)
	}
	if err != nil {
		return format, err
	}
	if !isMapped(in.Format) {
		format = worded(unwrapped(format))
	}
	if in.KeepNulls {
		format = formats.KeepNulls(format)
	}
	return in.edited(format)
}

// files returns the source of the files in their own order. It calls seen, unless it is nil, with each record
// and the error of its conversion; for lines that are events it does not.
func (in *input) files(seen func(record []byte, err error)) history.Source {
	format := in.format()
	if convert := format.Convert; convert != nil && seen != nil {
		format.Convert = func(record []byte) ([]hogapi.Event, error) {
			events, err := convert(record)
			seen(record, err)
			return events, err
		}
	}
	if format.Convert == nil {
		return in.cut(in.editedLines(history.JSONLines(in.paths()...)))
	}
	return in.cut(in.open(format, in.paths()))
}

// source returns the files, sorted and after the links if that was asked for. It sorts in a folder
// below dir.
func (in *input) source(dir string) history.Source {
	source := in.files(nil)
	if in.Sort {
		source = formats.Sorted(source, filepath.Join(dir, "sorted"))
	}
	if vendors[in.Format].isHistory {
		source = formats.Newest(source)
	}
	events := source
	if in.Sessions != "" {
		events = in.withSessions(source, dir)
	}
	if in.Links {
		options, links := in.linksOptions(), &linkSource{}
		options.OnReport = func(r formats.LinksReport) {
			if links.found != nil {
				links.found(r)
			}
		}
		links.Source = formats.LinksWith(source, options)
		events = history.Concat(links, in.withoutMerges(events))
	}
	return events
}

// paths returns the files that match the patterns, in the given order, without hidden ones.
func (in *input) paths() (paths []string) {
	seen := map[string]bool{}
	for _, pattern := range in.Files {
		found, err := filepath.Glob(pattern)
		if _, missing := os.Lstat(pattern); missing == nil { // a name with brackets can match other files
			found = []string{pattern}
		}
		if !strings.HasPrefix(filepath.Base(pattern), ".") { // as for a shell, so not the folder of fetch
			found = slices.DeleteFunc(found, func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") })
		}
		if err != nil || len(found) == 0 {
			found = []string{pattern} // a name with brackets, or one that is missing: the source says so
		}
		for _, path := range found {
			if !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	if in.Format == "posthog" {
		paths = slices.DeleteFunc(paths, isManifest)
	}
	if in.NoIntraday {
		twice := intraday(paths)
		paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(twice, path) })
	}
	return paths
}

// until returns the time of --until, or zero.
func (in *input) until() time.Time {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, in.Until); err == nil {
			return at
		}
	}
	return time.Time{}
}

// cut leaves out events at or after --until, and merges with placeholders.
func (in *input) cut(source history.Source) history.Source {
	if in.LeavePersons {
		source = formats.LeavePersons(source)
	}
	if in.Format != "jsonl" && in.Format != "posthog" && in.mapping != formats.OldestMapping {
		source = formats.WithoutPlaceholders(source, in.RealIDs...)
	}
	until := in.until()
	if until.IsZero() {
		return source
	}
	return history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		if !ev.Timestamp.Before(until) {
			return nil, history.Skip(page.SkipUntil)
		}
		return []hogapi.Event{ev}, nil
	})
}
