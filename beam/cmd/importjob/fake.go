package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/hogapitest"
)

// commits are real events: the same as in the examples, whose README says where they come from.
//
//go:embed commits.jsonl.gz
var commits []byte

// fake is a service of this process, with a folder for what belongs to it.
type fake struct {
	server *hogapitest.Server
	folder string
	isDemo bool // with its own events; the outputs are in the folder
}

// startFake makes the job one that imports into a fake, with real events where no files are named.
func (s *settings) startFake(out io.Writer) (*fake, error) {
	folder, err := os.MkdirTemp("", "importjob-")
	if err != nil {
		return nil, err
	}
	f := &fake{server: hogapitest.New(hogapitest.WithCompactLedger()), folder: folder}
	fmt.Fprintf(out, "No -cloud and no -host: working with a fake of the service on %s.\n\n", f.server.URL())
	keyFile := filepath.Join(folder, "project.key")
	if err := os.WriteFile(keyFile, []byte(hogapitest.DefaultProjectKey), 0o600); err != nil {
		return f, err
	}
	o := &s.options
	o.Service.BaseURL, o.Service.ProjectKey = f.server.URL(), hogbeam.SecretRef{File: keyFile}
	o.Rate = cmp.Or(o.Rate, hogapi.Unpaced)
	if len(s.globs) == 0 {
		f.isDemo = true
		path := filepath.Join(folder, "commits.jsonl.gz")
		s.globs = []string{path}
		o.ID = cmp.Or(o.ID, "commits")
		s.rejects = cmp.Or(s.rejects, filepath.Join(folder, "rejects.jsonl"))
		s.receipt = cmp.Or(s.receipt, filepath.Join(folder, "receipt.json"))
		return f, os.WriteFile(path, commits, 0o600)
	}
	return f, nil
}

// end says what the fake has, and takes it away.
func (f *fake) end(out io.Writer) {
	fmt.Fprintf(out, "\nThe fake holds %d events.\n", f.server.Ledger().Unique())
	f.server.Close()
	_ = os.RemoveAll(f.folder)
}
