package vendortest_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

// ask is a request without a network, so that time can be virtual.
func ask(m http.Handler) int {
	r := httptest.NewRequest(http.MethodGet, "/api/2.0/export?from_date=1999-12-01&to_date=1999-12-01", nil)
	r.SetBasicAuth("secret", "")
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w.Code
}

func TestLimitPerSecondAndHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vendortest.NewMixpanel(vendortest.MixpanelOptions{Secret: "secret"})
		for range 3 {
			require.Equal(t, 200, ask(m))
		}
		require.Equal(t, 429, ask(m), "the fourth within a second")
		time.Sleep(time.Second - 1)
		require.Equal(t, 429, ask(m))
		time.Sleep(time.Nanosecond)
		require.Equal(t, 200, ask(m), "what was refused does not count")
		for range 56 {
			time.Sleep(time.Second)
			require.Equal(t, 200, ask(m))
		}
		time.Sleep(time.Second)
		require.Equal(t, 429, ask(m), "60 within the hour are over")
		time.Sleep(time.Hour - 58*time.Second)
		require.Equal(t, 200, ask(m))
		require.Equal(t, map[int]int{200: 61, 429: 3}, m.Log.Statuses())
		require.Equal(t, 5, m.Log.Most(time.Second))
		require.Equal(t, 63, m.Log.Most(time.Hour))
	})
}

func TestLimitConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vendortest.NewMixpanel(vendortest.MixpanelOptions{Secret: "secret", Limits: vendortest.Limits{Concurrent: 2}})
		slow := vendortest.Fault{Wait: time.Minute}
		m.Script.Next(slow, slow)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { require.Equal(t, 200, ask(m)) })
		}
		synctest.Wait()
		require.Equal(t, 429, ask(m))
		both.Wait()
		require.Equal(t, 200, ask(m))
		all := m.Log.All()
		require.Equal(t, 3, all[2].Together)
		require.Equal(t, 1, all[3].Together)
	})
}

func TestLimitsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vendortest.NewMixpanel(vendortest.MixpanelOptions{Secret: "secret", Limits: noLimits})
		for range 200 {
			require.Equal(t, 200, ask(m))
		}
	})
}
