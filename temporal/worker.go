package hogtemporal

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/httptry"
)

// TaskQueue is the queue in Temporal through which workers get the work of imports.
const TaskQueue = "hogapi-import"

// WorkflowType is the name of the workflow in Temporal.
const WorkflowType = "hogapi.Import"

// Names of the activities.
const (
	activityCheck  = "history.Check"
	activitySend   = "hogapi.Send"
	activityVerify = "hogapi.Verify"
)

// WorkerOptions are the options of a worker.
type WorkerOptions struct {
	// Store keeps states and rejects. By default, states are kept in Temporal, and the first reject stops an
	// import.
	Store Store
	// Sources open the shards that are URLs, by the scheme of the URL: with formats/s3files, "s3".
	Sources map[string]func(ctx context.Context, s Shard) (history.Source, error)
	// Client has further options of the client that sends. Its keys, project and host come from the environment
	// ([hogapi.FromEnv]). A [hogapi.WithHTTPClient] has no effect: see Transport.
	Client []hogapi.Option
	// Transport carries the requests. The default is a transport like the client's own.
	Transport http.RoundTripper
	// Delivery configures how events are sent.
	Delivery hogapi.DeliveryOptions
	// Imports is the number of imports that the worker works for at the same time. The first takes up to about 90
	// MiB of memory, and each further one 40 MiB. The default is 2.
	Imports int
	// Identity names the worker in Temporal and in [Status]. The default is made of the host and the process.
	Identity string
	// StopTimeout is how long a stopping worker waits until its work is settled or saved. The default is 10 s.
	StopTimeout time.Duration
}

// Worker works for imports until its Run ends.
type Worker struct{ worker worker.Worker }

// NewWorker returns a worker. If the environment does not have the settings of a client, it returns the joined
// errors of [hogapi.NewClient].
func NewWorker(c client.Client, options *WorkerOptions) (*Worker, error) {
	var o WorkerOptions
	if options != nil {
		o = *options
	}
	if 0 < o.StopTimeout && o.StopTimeout < time.Millisecond {
		return nil, fmt.Errorf("temporal: StopTimeout %v: want a unit, such as 10*time.Second", o.StopTimeout)
	}
	o.Identity = cmp.Or(o.Identity, identity())
	if o.Transport == nil {
		o.Transport = httptry.DefaultTransport() // for all imports of the worker
	}
	a := &activities{temporal: c, options: o, now: clocks}
	if _, err := a.client(o.Transport, ""); err != nil {
		return nil, err
	}
	w := worker.New(c, TaskQueue, worker.Options{
		Identity:                           o.Identity,
		MaxConcurrentActivityExecutionSize: cmp.Or(o.Imports, 2),
		MaxConcurrentActivityTaskPollers:   2,
		MaxConcurrentWorkflowTaskPollers:   2,
		WorkerStopTimeout:                  cmp.Or(o.StopTimeout, 10*time.Second),
		DisableEagerActivities:             true, // another worker may have room
	})
	register(w, a)
	return &Worker{w}, nil
}

// registry is the common interface of a worker, a replayer and a test environment.
type registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

func register(r registry, a *activities) {
	r.RegisterWorkflowWithOptions(importWorkflow, workflow.RegisterOptions{Name: WorkflowType})
	r.RegisterActivityWithOptions(a.check, activity.RegisterOptions{Name: activityCheck})
	r.RegisterActivityWithOptions(a.send, activity.RegisterOptions{Name: activitySend})
	r.RegisterActivityWithOptions(a.verify, activity.RegisterOptions{Name: activityVerify})
}

// Run works until ctx ends. Then it settles or saves its work, so that another worker can continue. It returns
// an error if it cannot start, or if Temporal refuses it permanently.
func (w *Worker) Run(ctx context.Context) error {
	stop := make(chan any, 1)
	defer context.AfterFunc(ctx, func() { stop <- nil })()
	return w.worker.Run(stop)
}

type activities struct {
	temporal client.Client
	options  WorkerOptions
	now      func() reading
}

// client returns a client for an activity. All its requests pass the given transport, and its User-Agent has the
// version.
func (a *activities) client(through http.RoundTripper, version string) (*hogapi.Client, error) {
	options := append([]hogapi.Option{hogapi.FromEnv(), hogapi.WithApplication("hogtemporal", version)}, a.options.Client...)
	return hogapi.NewClient(append(options, hogapi.WithHTTPClient(&http.Client{Transport: through}))...)
}

func (a *activities) source(ctx context.Context, s Shard) (history.Source, error) {
	u := s.url()
	if u == nil {
		return s.source()
	}
	open, ok := a.options.Sources[u.Scheme]
	if !ok {
		return nil, &hogapi.InputError{Field: "Shard.Path", Value: u.Scheme, Want: "a path, or a URL with a scheme of WorkerOptions.Sources of this worker"}
	}
	return open(ctx, s)
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("hogworker-%s-%d", host, os.Getpid())
}
