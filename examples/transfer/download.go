package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// longest is the longest interval of one file download.
const longest = 7 * day

// state is the folder's record of one file download.
type state struct {
	ID    uuid.UUID `json:"id"`
	Done  bool      `json:"done"`
	Files []string  `json:"files"` // names in the folder, once it is done
}

// download lets the first project export some days, and returns the paths of the files. They
// are Parquet, which the service writes unless it is asked for another format.
func (t *transfer) download(ctx context.Context, begin, end time.Time) (paths []string, err error) {
	span := begin.Format(time.DateOnly) + "_" + end.Format(time.DateOnly)
	keep := filepath.Join(t.folder, span+".json")
	s, err := read(keep)
	if err != nil {
		return nil, err
	}
	request := hogapi.FileDownloadRequest{
		Model: hogapi.ModelEvents, DataIntervalStart: begin, DataIntervalEnd: end,
		File: hogapi.FileOptions{Compression: hogapi.FileCompressionZstd},
	}
	if s.ID == uuid.Nil {
		if s.ID, err = t.from.FileDownloads.Create(ctx, request); err != nil {
			return nil, err
		}
		if err := s.write(keep); err != nil {
			return nil, err
		}
	}
	if !s.Done {
		last, err := t.from.FileDownloads.Wait(ctx, s.ID, t.watch)
		if err == nil {
			options := &hogapi.FolderOptions{Extension: request.File.Extension()}
			paths, err = t.from.FileDownloads.DownloadAll(ctx, s.ID, t.folder, options)
		}
		if err != nil {
			const advice = "the same command continues; to export these days again, remove"
			return nil, fmt.Errorf("the export of %s: %w; %s %s first", span, err, advice, keep)
		}
		for _, path := range paths {
			s.Files = append(s.Files, filepath.Base(path))
		}
		s.Done = true
		if err := s.write(keep); err != nil {
			return nil, err
		}
		if last.RecordsCompleted != nil {
			fmt.Fprintf(t.out, "%s: %d records in %d files\n", span, *last.RecordsCompleted, len(s.Files))
		}
	}
	paths = nil
	for _, name := range s.Files {
		paths = append(paths, filepath.Join(t.folder, name))
	}
	return paths, nil
}

func read(path string) (s state, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	return s, err
}

func (s state) write(path string) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
