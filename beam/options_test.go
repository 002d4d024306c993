package hogbeam_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestOptionsAreChecked(t *testing.T) {
	good := hogbeam.Options{ID: "shop", Service: hogbeam.Service{Region: hogapi.RegionEU, ProjectKey: hogbeam.SecretRef{Env: "KEY"}}}
	require.NoError(t, good.Check())
	cases := map[string]struct {
		change func(*hogbeam.Options)
		want   string
	}{
		"no id":             {func(o *hogbeam.Options) { o.ID = "" }, "ID: want a name"},
		"an id of nonsense": {func(o *hogbeam.Options) { o.Service.Region = "mars" }, "region"},
		"no reference":      {func(o *hogbeam.Options) { o.Service.ProjectKey = hogbeam.SecretRef{} }, "Service.ProjectKey"},
		"two of them":       {func(o *hogbeam.Options) { o.Service.ProjectKey.File = "key" }, "one of them"},
		"a key":             {func(o *hogbeam.Options) { o.Service.ProjectKey.Env = hogapitest.DefaultProjectKey }, "this is a key"},
		"lanes":             {func(o *hogbeam.Options) { o.Lanes = 513 }, "1 to 512"},
		"rate":              {func(o *hogbeam.Options) { o.Rate = 7 }, "one event per second for each lane"},
		"lanes of lane":     {func(o *hogbeam.Options) { o.Delivery.Lanes = 2 }, "say Options.Lanes"},
		"content ids":       {func(o *hogbeam.Options) { o.Gate.ContentIDs = 2 }, "Gate.ContentIDs"},
		"memory":            {func(o *hogbeam.Options) { o.Sort.Memory = 1000 }, "Sort.Memory"},
		"cap":               {func(o *hogbeam.Options) { o.Sort.MaxBytes = -1 }, "Sort.MaxBytes"},
		"the core's":        {func(o *hogbeam.Options) { o.Delivery.Linger = -time.Second }, "Delivery.Linger"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			err := o.Check()
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), hogapitest.DefaultProjectKey)
			_, s := beam.NewPipelineWithRoot()
			assert.PanicsWithError(t, err.Error(), func() { hogbeam.WriteHistorical(s, o, beam.Create(s, hogbeam.Event{Name: "a"})) })
		})
	}
}

func TestAllProblemsOfOptionsAreReportedAtOnce(t *testing.T) {
	err := hogbeam.Options{
		Lanes: 600, Rate: -7, Service: hogbeam.Service{Region: hogapi.RegionEU, BaseURL: "https://posthog.example"},
	}.Check()
	for _, want := range []string{"ID: want a name", "1 to 512", "one event per second for each lane", "Service.ProjectKey", "region"} {
		assert.Equal(t, 1, strings.Count(err.Error(), want), "%s: %s", want, err)
	}
	err = hogbeam.Options{Rate: 1, Service: hogbeam.Service{ProjectKey: hogbeam.SecretRef{Env: "KEY"}}, Delivery: hogapi.DeliveryOptions{Linger: -1}}.Check()
	for _, want := range []string{"ID: want a name", "Rate", "region"} {
		assert.ErrorContains(t, err, want)
	}
}
