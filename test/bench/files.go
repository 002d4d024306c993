package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// files measures hogimport on files of some tools: processes of their own, in turns.
type files struct {
	records, rounds int
	formats         []string
	growth          []int // records of Mixpanel's files, for the cost of a record by their number
	sends           bool  // run too

	folder, hogimport string
	sink              *sinkProcess
}

// spent is what a process took.
type spent struct {
	cpu, wall time.Duration
	peak      int64 // bytes
}

// python is what a script does that only reads and writes lines of JSON.
const python = `
import json, sys
with open(sys.argv[1]) as lines, open("/dev/null", "w") as out:
    for line in lines:
        out.write(json.dumps(json.loads(line)))
        out.write("\n")
`

func (f *files) run(out io.Writer) (err error) {
	if f.folder, err = os.MkdirTemp("", "benchmarks"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.folder)) }()
	f.hogimport = filepath.Join(f.folder, "hogimport")
	build := exec.Command("go", "build", "-o", f.hogimport, "./hogimport")                                 //nolint:noctx // it ends by itself
	for build.Dir = ".."; !isThere(filepath.Join(build.Dir, "cmd", "hogimport")) && len(build.Dir) < 20; { // of the module or of the package
		build.Dir = filepath.Join("..", build.Dir)
	}
	build.Dir, build.Env = filepath.Join(build.Dir, "cmd"), append(os.Environ(), "GOWORK=")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building hogimport: %w: %s", err, text)
	}
	fmt.Fprintf(out, "%d records a file, %d rounds; load at the start %s\n", f.records, f.rounds, load())
	if err := f.checks(out); err != nil {
		return err
	}
	if err := f.grows(out); err != nil || !f.sends {
		return err
	}
	return f.imports(out)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// measured runs a process.
func (f *files) measured(name string, args ...string) (s spent, err error) {
	cmd := exec.Command(name, args...) //nolint:noctx // it ends by itself
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "TMPDIR="+f.folder)
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		text := said.String()
		return s, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, text[max(0, len(text)-500):])
	}
	s = spent{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: time.Since(begun)}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peak = usage.Maxrss << 10
	}
	return s, nil
}

// file makes the file of a format.
func (f *files) file(format string, n int) (path string, size int64, err error) {
	path = filepath.Join(f.folder, format+".jsonl")
	if err := writeVisits(path, format, n); err != nil {
		return "", 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	return path, info.Size(), nil
}

func formatFlag(format string) string {
	if format == "posthog" {
		return "jsonl"
	}
	return format
}

func (f *files) check(format, path string) (spent, error) {
	return f.measured(f.hogimport, "check", path, "--format", formatFlag(format), "--json")
}

func (f *files) checks(out io.Writer) error {
	fmt.Fprint(out, "\n| check of | CPU µs/record | CPU ÷ Python | wall ÷ CPU | MB/s | bytes/record | peak MiB |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, format := range f.formats {
		path, size, err := f.file(format, f.records)
		if err != nil {
			return err
		}
		var own, script []spent
		for range f.rounds {
			s, err := f.measured("python3", "-c", python, path)
			if err != nil {
				return err
			}
			script = append(script, s)
			if s, err = f.check(format, path); err != nil {
				return err
			}
			own = append(own, s)
		}
		at := func(figure func(i int) float64) spread { return spreadOf(f.rounds, figure) }
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %d | %d |\n", format,
			at(func(i int) float64 { return micros(own[i].cpu, f.records) }).format("%.1f"),
			at(func(i int) float64 { return own[i].cpu.Seconds() / script[i].cpu.Seconds() }).format("%.2f"),
			at(func(i int) float64 { return own[i].wall.Seconds() / own[i].cpu.Seconds() }).format("%.2f"),
			at(func(i int) float64 { return float64(size) / 1e6 / own[i].wall.Seconds() }).format("%.0f"),
			size/int64(f.records), slices.MaxFunc(own, func(a, b spent) int { return int(a.peak - b.peak) }).peak>>20)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (f *files) grows(out io.Writer) error {
	if len(f.growth) == 0 {
		return nil
	}
	fmt.Fprint(out, "\n| records of Mixpanel | CPU µs/record | peak MiB |\n| --- | --- | --- |\n")
	for _, n := range f.growth {
		path, _, err := f.file("mixpanel", n)
		if err != nil {
			return err
		}
		s, err := f.check("mixpanel", path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %.1f | %d |\n", n, micros(s.cpu, n), s.peak>>20)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// watchDisk returns a function that says how many bytes the files of a folder had at most.
func watchDisk(folder string) (stop func() int64) {
	end, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		for {
			var sum int64
			_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // files come and go
				if err == nil && d.Type().IsRegular() && filepath.Base(path) != "hogimport" {
					if info, err := d.Info(); err == nil {
						sum += info.Size()
					}
				}
				return nil
			})
			peak = max(peak, sum)
			select {
			case <-end:
				most <- peak
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(end); return <-most }
}

// imports compares runs without a rate into the sink.
func (f *files) imports(out io.Writer) (err error) {
	if f.sink, err = startSink(); err != nil {
		return err
	}
	defer f.sink.stop()
	fmt.Fprint(out, "\n| run --rate none | CPU µs/event | CPU ÷ first line | disk ÷ file |\n| --- | --- | --- | --- |\n")
	var first []spent
	for _, c := range []struct {
		format string
		flags  []string
	}{{"posthog", nil}, {"mixpanel", nil}, {"mixpanel", []string{"--sort", "--links=false"}}, {"mixpanel", []string{"--sort", "--links", "--sessions", "30m"}}} {
		path, size, err := f.file(c.format, f.records)
		if err != nil {
			return err
		}
		var own []spent
		var disk int64
		for round := range f.rounds {
			if err := f.sink.get("/forget/0s", nil); err != nil {
				return err
			}
			state := filepath.Join(f.folder, fmt.Sprintf("state%d", round))
			args := append([]string{
				"run", path, "--format", formatFlag(c.format), "--rate", "none", "--state", state, "--host", f.sink.url, "--project-key", apiKey, "--yes",
			}, c.flags...)
			stop := watchDisk(f.folder)
			s, err := f.measured(f.hogimport, args...)
			if disk = max(disk, stop()-size); err != nil {
				return err
			}
			own = append(own, s)
			if err := os.RemoveAll(state); err != nil {
				return err
			}
		}
		if first == nil {
			first = own
		}
		fmt.Fprintf(out, "| %s %s | %s | %s | %.1f |\n", c.format, strings.Join(c.flags, " "),
			spreadOf(f.rounds, func(i int) float64 { return micros(own[i].cpu, f.records) }).format("%.1f"),
			spreadOf(f.rounds, func(i int) float64 { return own[i].cpu.Seconds() / first[i].cpu.Seconds() }).format("%.2f"), float64(disk)/float64(size))
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
