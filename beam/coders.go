package hogbeam

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/hogapi/hogapi"
)

// A worker finds types, functions and coders by name, so all of them are registered, also for programs without symbols.
func init() {
	register.DoFn3x0[context.Context, Event, func(int, []byte)](&stampFn{})
	register.DoFn6x1[context.Context, int, func(*[]byte) bool, func(BatchReceipt), func(Reject), func(hogapi.Receipt), error](&laneFn{})
	register.DoFn3x1[int, func(*hogapi.Receipt) bool, func(hogapi.Receipt), error](&totalFn{})

	register.DoFn3x1[context.Context, []byte, func(file), error](&matchFn{})
	register.DoFn3x1[context.Context, file, func(file), error](&lookFn{})
	register.DoFn4x1[context.Context, *sdf.LockRTracker, file, func(Event), error](&readFn{})
	register.DoFn3x1[context.Context, string, func(ProjectExport), error](&exportsFn{})
	register.DoFn3x1[context.Context, ProjectExport, func(ProjectRun), error](&runsFn{})

	register.Emitter2[int, []byte]()
	register.Emitter1[file]()
	register.Emitter1[ProjectExport]()
	register.Emitter1[ProjectRun]()
	register.Emitter1[Event]()
	register.Emitter1[BatchReceipt]()
	register.Emitter1[Reject]()
	register.Emitter1[hogapi.Receipt]()
	register.Iter1[[]byte]()
	register.Iter1[hogapi.Receipt]()

	registerCoder(encodeFile, decodeFile)
	registerCoder(encodeExport, decodeExport)
	registerCoder(encodeRun, decodeRun)
	registerCoder(encodeEvent, decodeEvent)
	registerCoder(encodeBatchReceipt, decodeBatchReceipt)
	registerCoder(encodeReject, decodeReject)
	registerCoder(encodeReceipt, decodeReceipt)
}

func registerCoder[T any](encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	beam.RegisterType(reflect.TypeFor[T]())
	beam.RegisterFunction(encode)
	beam.RegisterFunction(decode)
	beam.RegisterCoder(reflect.TypeFor[T](), encode, decode)
}

// Coders are functions with names of their own: a generic one has none that a worker could find it by.

func encodeEvent(ev Event) ([]byte, error)              { return appendEvent(nil, &ev), nil }
func decodeEvent(b []byte) (Event, error)               { return parseEvent(b) }
func encodeFile(f file) ([]byte, error)                 { return json.Marshal(f) }
func decodeFile(b []byte) (file, error)                 { return fromJSON[file](b) }
func encodeExport(e ProjectExport) ([]byte, error)      { return json.Marshal(e) }
func decodeExport(b []byte) (ProjectExport, error)      { return fromJSON[ProjectExport](b) }
func encodeRun(r ProjectRun) ([]byte, error)            { return json.Marshal(r) }
func decodeRun(b []byte) (ProjectRun, error)            { return fromJSON[ProjectRun](b) }
func encodeReject(r Reject) ([]byte, error)             { return json.Marshal(r) }
func decodeReject(b []byte) (Reject, error)             { return fromJSON[Reject](b) }
func encodeReceipt(r hogapi.Receipt) ([]byte, error)    { return json.Marshal(r) }
func decodeReceipt(b []byte) (hogapi.Receipt, error)    { return fromJSON[hogapi.Receipt](b) }
func encodeBatchReceipt(r BatchReceipt) ([]byte, error) { return json.Marshal(r) }
func decodeBatchReceipt(b []byte) (BatchReceipt, error) { return fromJSON[BatchReceipt](b) }

func fromJSON[T any](b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}
