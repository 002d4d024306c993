package errtext

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Panic is a panic of somebody's function: where it was, and what the runtime says of it. Another
// panic's value can hold the record, so only its type is named.
func Panic(value any, who string) error {
	what := fmt.Sprintf("a panic with a value of type %T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // of what has panicked, in which the runtime comes first
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("%s panicked at %s:%d: %s", who, filepath.Base(frame.File), frame.Line, what)
		}
		if !more {
			return fmt.Errorf("%s panicked: %s", who, what)
		}
	}
}
