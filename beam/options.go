package hogbeam

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/hogapi/hogapi"
)

// Service says where the workers find the service, and with which keys. See the options of [hogapi.NewClient].
type Service struct {
	Region       hogapi.Region // or the URLs of a server of your own
	BaseURL      string
	CaptureURL   string
	APIPath      string
	InsecureHTTP bool      // http:// to other hosts than loopback
	ProjectKey   SecretRef // for WriteHistorical
	PersonalKey  SecretRef // for ListExports and ListRuns
}

// options are those of a client, without keys.
func (s Service) options() []hogapi.Option {
	options := []hogapi.Option{hogapi.WithApplication("hogbeam", "")}
	if s.Region != "" {
		options = append(options, hogapi.WithRegion(s.Region))
	}
	if s.BaseURL != "" {
		options = append(options, hogapi.WithBaseURL(s.BaseURL))
	}
	if s.CaptureURL != "" {
		options = append(options, hogapi.WithCaptureURL(s.CaptureURL))
	}
	if s.APIPath != "" {
		options = append(options, hogapi.WithAPIPath(s.APIPath))
	}
	if s.InsecureHTTP {
		options = append(options, hogapi.WithInsecureHTTP())
	}
	return options
}

// capturing makes a client that sends events. Without a key it is for looking at the options only.
func (s Service) capturing(key string) (*hogapi.Client, error) {
	return hogapi.NewClient(append(s.options(), hogapi.WithProjectAPIKey(key))...)
}

// managing makes a client that reads the settings of any project.
func (s Service) managing(key string) (*hogapi.Client, error) {
	return hogapi.NewClient(append(s.options(), hogapi.WithPersonalAPIKey(key), hogapi.WithoutProject())...)
}

// noKey stands for the key while a pipeline is being built.
const noKey = "not-known-here"

// Options set up [WriteHistorical]. All of it becomes part of the job, and none of it is secret.
type Options struct {
	// ID names the import, for ever: uuids are derived from it, so a second run with the same ID sends the same events.
	ID string
	// Service is where the events go.
	Service Service
	// Lanes is how many writers the whole job has at the most, whatever the number of machines: default 8, at most 512. All events of a
	// person go through one lane, in order. Another number of lanes changes no event.
	Lanes int
	// Rate is the most events per second of the whole job, resent ones included: default 1,000, as the service's own importer; or
	// [hogapi.Unpaced]. Each lane has an equal part of it, and an idle lane's part is not used.
	Rate int
	// FailOnReject ends the job at the first event that is refused. By default refused events are an output.
	FailOnReject bool
	// Sort bounds what a lane needs on its worker.
	Sort SortOptions
	// Gate says what is refused before it is sent. ContentIDs cannot be used: give each event a uuid or a position.
	Gate hogapi.GateOptions
	// Delivery says how a lane sends. Its Lanes cannot be used: a lane is one writer.
	Delivery hogapi.DeliveryOptions
}

// SortOptions say where a lane sorts its events. Zero fields take the default.
type SortOptions struct {
	Memory   int64  // bytes that are sorted in memory at a time; default 32 MiB
	MaxBytes int64  // bytes of one lane's events; a larger lane is a *LaneTooLargeError; default 16 GiB
	Folder   string // for what does not fit the memory; default os.TempDir
}

const (
	defaultLanes = 8
	mostLanes    = 512
	defaultRate  = 1000
)

// withDefaults fills in what the options leave open.
func (o Options) withDefaults() Options {
	o.Lanes = cmp.Or(o.Lanes, defaultLanes)
	o.Rate = cmp.Or(o.Rate, defaultRate)
	o.Sort.Memory = cmp.Or(o.Sort.Memory, 32<<20)
	o.Sort.MaxBytes = cmp.Or(o.Sort.MaxBytes, 16<<30)
	return o
}

// Check reports all that is wrong with the options. [WriteHistorical] panics with the same error, as Beam's transforms do.
func (o Options) Check() error {
	o = o.withDefaults()
	bad := func(field string, value int64, want string) error {
		return &hogapi.InputError{Op: hogapi.OpImport, Field: field, Value: strconv.FormatInt(value, 10), Want: want}
	}
	var problems []error
	if o.ID == "" {
		problems = append(problems, &hogapi.InputError{Op: hogapi.OpImport, Field: "ID", Want: `a name that stays the same for every run, such as "mixpanel-2024"`})
	}
	if o.Lanes < 1 || o.Lanes > mostLanes {
		problems = append(problems, bad("Lanes", int64(o.Lanes), "1 to 512"))
	}
	if o.Rate != hogapi.Unpaced && o.Rate < max(1, min(o.Lanes, mostLanes)) {
		problems = append(problems, bad("Rate", int64(o.Rate), "at least one event per second for each lane, 0 for the default of 1,000, or Unpaced"))
	}
	if o.Delivery.Lanes != 0 {
		problems = append(problems, bad("Delivery.Lanes", int64(o.Delivery.Lanes), "0: say Options.Lanes"))
	}
	if o.Gate.ContentIDs != 0 {
		problems = append(problems, bad("Gate.ContentIDs", int64(o.Gate.ContentIDs), "0: equal events may be in different files"))
	}
	if o.Sort.Memory < 1<<20 || o.Sort.Memory > 1<<30 {
		problems = append(problems, bad("Sort.Memory", o.Sort.Memory, "1 MiB to 1 GiB"))
	}
	if o.Sort.MaxBytes < 0 {
		problems = append(problems, bad("Sort.MaxBytes", o.Sort.MaxBytes, "more than 0"))
	}
	return errors.Join(append(problems, o.Service.ProjectKey.check("Service.ProjectKey"), o.tryCapture())...)
}

// tryCapture lets the core check what goes to it, all but what Check looks at itself: nothing is told twice.
func (o Options) tryCapture() error {
	o.ID, o.Lanes, o.Rate, o.Gate.ContentIDs = cmp.Or(o.ID, "unnamed"), 1, hogapi.Unpaced, 0
	client, err := o.Service.capturing(noKey)
	if err != nil {
		return err
	}
	capture, err := client.NewCapture(o.capture(nil))
	if err != nil {
		return err
	}
	_, err = capture.Close(context.Background())
	return err
}

// capture sets up the one writer of a lane.
func (o Options) capture(rejects hogapi.RejectHandler) hogapi.CaptureOptions {
	rate := o.Rate
	if rate != hogapi.Unpaced {
		rate /= o.Lanes
	}
	delivery := o.Delivery
	delivery.Lanes = 1
	return hogapi.CaptureOptions{ID: o.ID, Rate: rate, Rejects: rejects, Gate: o.Gate, Delivery: delivery}
}

// batch is how many events are sent before a lane looks whether they are settled: as many as the core puts into one request.
func (o Options) batch() int {
	n := cmp.Or(o.Delivery.MaxBatchEvents, 1000)
	if o.Rate != hogapi.Unpaced {
		n = min(n, max(o.Rate/o.Lanes/4, 1)) // a quarter of a second
	}
	return n
}
