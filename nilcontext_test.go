package hogapi

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Every method of a service, and Do, refuses a nil context: as an error, or as the first and only step of an iterator.
func TestNilContextIsRefused(t *testing.T) {
	client, mock := newTestClient(t)
	var none context.Context
	arguments := map[reflect.Type]reflect.Value{
		reflect.TypeFor[context.Context]():          reflect.Zero(reflect.TypeFor[context.Context]()),
		reflect.TypeFor[uuid.UUID]():                reflect.ValueOf(runA),
		reflect.TypeFor[string]():                   reflect.ValueOf("7"),
		reflect.TypeFor[BatchExportRequest]():       reflect.ValueOf(hostileExport()),
		reflect.TypeFor[BatchExportUpdateRequest](): reflect.ValueOf(BatchExportUpdateRequest{Name: Set("x")}),
		reflect.TypeFor[BackfillRange]():            reflect.ValueOf(january),
		reflect.TypeFor[*BackfillTicket](): reflect.ValueOf(&BackfillTicket{
			ExportID: exportA, RetriedRun: runA, RequestedAt: january.Start.Time(), BackfillID: runB.String(),
		}),
	}
	methods := 0
	for _, service := range []any{client.BatchExports, client.Backfills, client.Runs, client.AppMetrics, client.Dashboards, client.Integrations} {
		for method, call := range reflect.ValueOf(service).Methods() {
			kind := call.Type()
			var in []reflect.Value
			for i := range kind.NumIn() - 1 { // without options
				argument, ok := arguments[kind.In(i)]
				if !ok {
					argument = reflect.Zero(kind.In(i))
				}
				in = append(in, argument)
			}
			out := call.Call(in)
			result := out[len(out)-1]
			err, _ := reflect.TypeAssert[error](result)
			if result.Kind() == reflect.Func {
				steps := 0
				for _, failed := range result.Seq2() {
					steps++
					err, _ = reflect.TypeAssert[error](failed)
				}
				require.Equal(t, 1, steps, method.Name)
			}
			requireInputError(t, err, "ctx")
			require.False(t, errors.As(err, new(*PageError)), method.Name)
			methods++
		}
	}
	require.Greater(t, methods, 35)
	requireInputError(t, client.Do(none, Request{Method: "GET", Path: "/x/"}, nil), "ctx")
	require.Zero(t, mock.GetTotalCallCount())
}
