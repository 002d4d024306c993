package errtext

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Panic describes a panic in a caller's function: its position, and the text of a runtime error.
// For other values it names only the type, since the value may contain the record.
func Panic(value any, who string) error {
	what := fmt.Sprintf("a panic with a value of type %T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for hasBegun := false; ; { // our frames come first, then the runtime's
		frame, more := frames.Next()
		hasBegun = hasBegun || frame.Function == "runtime.gopanic"
		if hasBegun && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("%s panicked at %s:%d: %s", who, filepath.Base(frame.File), frame.Line, what)
		}
		if !more {
			return fmt.Errorf("%s panicked: %s", who, what)
		}
	}
}
