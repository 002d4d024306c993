package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// tryHere finds out before the first event what a job on this machine would find out late.
func (s *settings) tryHere(ctx context.Context, out io.Writer) error {
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	found.print(out)
	if err := s.tryOutputs(ctx); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(s.options.Sort.Folder, "importjob-")
	if err != nil {
		return fmt.Errorf("-sort-folder: %w", err)
	}
	if err := os.Remove(folder); err != nil {
		return err
	}
	if isolated := *jobopts.EnvironmentType; isolated != "" && !strings.EqualFold(isolated, "loopback") {
		return nil // a worker may have other variables and files
	}
	return s.options.Service.ProjectKey.Try()
}
