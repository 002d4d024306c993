package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

type plan struct {
	rounds, events int
	latency        time.Duration
	only           []string
	profiles       string
}

type result struct {
	measurement
	tally
}

func (p plan) run(out io.Writer) error {
	chosen, err := p.clients()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "benchmarks")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "events.jsonl")
	if err := writeEvents(file, p.events); err != nil {
		return err
	}
	sink, err := startSink()
	if err != nil {
		return err
	}
	defer sink.stop()
	fmt.Fprintf(out, "%s, %d CPUs; %d events a run, %d rounds, sink answers after %v; load at the start %s\n",
		runtime.Version(), runtime.NumCPU(), p.events, p.rounds, p.latency, load())
	want := digestOf(p.events)
	results := map[string][]result{}
	for round := range p.rounds {
		for i := range chosen {
			c := chosen[(i+round)%len(chosen)] // each client is first in turn
			j := job{Client: c.name, URL: sink.url, Events: p.events, File: file}
			r, err := p.one(sink, c, j, want)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			results[c.name] = append(results[c.name], r)
		}
		fmt.Fprintf(out, "round %d of %d done, load %s\n", round+1, p.rounds, load())
	}
	report(out, chosen, results, p.events)
	return p.judge(out, results)
}

func (p plan) clients() ([]client, error) {
	if p.only == nil {
		return clients, nil
	}
	var chosen []client
	for _, name := range p.only {
		c, err := findClient(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// one runs a client once. It returns an error if an event is missing, doubled or changed.
func (p plan) one(sink *sinkProcess, c client, j job, want string) (r result, err error) {
	if j.Folder, err = os.MkdirTemp(filepath.Dir(j.File), c.name); err != nil {
		return r, err
	}
	if p.profiles != "" {
		j.Profile = filepath.Join(p.profiles, c.name+".pprof")
	}
	if err := sink.get("/forget/"+p.latency.String(), nil); err != nil {
		return r, err
	}
	if err := runJob(j, &r.measurement); err != nil {
		return r, err
	}
	if err := sink.get("/tally", &r.tally); err != nil {
		return r, err
	}
	if c.derived {
		want = r.measurement.Digest
	}
	if r.Events != j.Events || r.tally.Digest != want {
		return r, fmt.Errorf("%d events were sent, the sink has %d; digest of their uuids %s, and there %s", j.Events, r.Events, want, r.tally.Digest)
	}
	return r, os.RemoveAll(j.Folder)
}

func runJob(j job, m *measurement) error {
	task, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd, err := command(string(task))
	if err != nil {
		return err
	}
	var faults bytes.Buffer
	cmd.Stderr = &faults
	answer, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(faults.String()))
	}
	return json.Unmarshal(answer, m)
}

func command(task string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self) //nolint:noctx // it ends by itself
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, role+"=") }), role+"="+task)
	return cmd, nil
}

type sinkProcess struct {
	url   string
	cmd   *exec.Cmd
	input io.Closer
}

func startSink() (*sinkProcess, error) {
	cmd, err := command(sinkTask)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &sinkProcess{cmd: cmd, input: input}
	if _, err := fmt.Fscanln(output, &s.url); err != nil {
		s.stop()
		return nil, fmt.Errorf("the sink has not begun: %w", err)
	}
	return s, nil
}

func (s *sinkProcess) stop() {
	_ = s.input.Close()
	_ = s.cmd.Wait()
}

var asking = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

func (s *sinkProcess) get(path string, into any) error {
	resp, err := asking.Get(s.url + path) //nolint:noctx // has a time limit
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("the sink says " + resp.Status)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
