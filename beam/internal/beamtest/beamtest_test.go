package beamtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsBeams(t *testing.T) {
	const (
		closes = "  runtime.closechan()\n      /go/src/runtime/chan.go:414 +0x0\n" +
			"  github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness.MainWithOptions()\n      /harness.go:243 +0x1\n"
		sends = "  runtime.chansend()\n      /go/src/runtime/chan.go:176 +0x0\n" +
			"  github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness.MainWithOptions.func4()\n      /harness.go:217 +0x1\n"
		receives = "  google.golang.org/grpc/internal/transport.(*recvBufferReader).ReadMessageHeader()\n      /transport.go:248 +0x15d\n" +
			"  github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness.(*dataWriter).send()\n      /datamgr.go:571 +0x3b8\n"
		emits = receives + "  github.com/hogapi/hogapi/beam.(*packFn).ProcessElement()\n      /pack.go:1 +0x1\n"
		ours  = "  runtime.mapassign_faststr()\n      /go/src/runtime/map.go:1 +0x1\n" +
			"  github.com/hogapi/hogapi/beam.(*packFn).ProcessElement()\n      /pack.go:1 +0x1\n" +
			"  github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec.(*ParDo).ProcessElement()\n      /pardo.go:1 +0x1\n"
		program = "  main.main()\n      /main.go:1 +0x1\n"
		unknown = "  [failed to restore the stack]\n"
		created = "Goroutine 147 (running) created at:\n" + ours
	)
	for name, c := range map[string]struct {
		stacks []string
		want   bool
	}{
		"a channel closed":                {[]string{"Write at 0x00c0001 by goroutine 7:\n" + closes, "Previous read at 0x00c0001 by goroutine 8:\n" + sends}, true},
		"a stream read twice":             {[]string{"Write at 0x00c0001 by goroutine 7:\n" + receives, "Previous write at 0x00c0001 by goroutine 8:\n" + receives}, true},
		"… by an element of ours":         {[]string{"Write at 0x00c0001 by goroutine 7:\n" + receives, "Previous read at 0x00c0001 by goroutine 8:\n" + emits}, true},
		"in goroutines that ours began":   {[]string{"Write at 0x00c0001 by goroutine 7:\n" + closes, "Previous read at 0x00c0001 by goroutine 8:\n" + sends, created}, true},
		"our data":                        {[]string{"Write at 0x00c0001 by goroutine 7:\n" + ours, "Previous read at 0x00c0001 by goroutine 8:\n" + ours}, false},
		"our data that Beam reads":        {[]string{"Read at 0x00c0001 by goroutine 7:\n" + sends, "Previous atomic write at 0x00c0001 by main goroutine:\n" + ours}, false},
		"the program's":                   {[]string{"Write at 0x00c0001 by goroutine 7:\n" + closes, "Previous read at 0x00c0001 by main goroutine:\n" + program}, false},
		"an access that nobody can place": {[]string{"Write at 0x00c0001 by goroutine 7:\n" + closes, "Previous read at 0x00c0001 by goroutine 8:\n" + unknown}, false},
		"one access alone":                {[]string{"Write at 0x00c0001 by goroutine 7:\n" + closes, created}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, isBeams("\n"+strings.Join(c.stacks, "\n")+"==================\n"))
		})
	}
}
