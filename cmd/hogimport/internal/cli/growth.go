package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	pages "github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi/cmd/internal/shell"

	"github.com/hogapi/hogapi/internal/lines"
)

// knownFile describes a file of an import at the time when a run began to read it.
type knownFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Ends string `json:"ends"` // a digest of its beginning and its end
}

// known describes files in their present state, each of them once. It ends with ctx.
func known(ctx context.Context, paths []string) ([]knownFile, error) {
	files := make([]knownFile, 0, len(paths))
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f := knownFile{Path: absolute(path)}
		if found, err := lines.NewFiles([]string{path}).Contents(); err == nil {
			f.Size, f.Ends = found[0].Size, found[0].Ends
		}
		files = append(files, f)
	}
	return files, nil
}

// moved is a file without its folder: a file of the same name and content was moved.
func (f knownFile) moved() knownFile {
	f.Path = filepath.Base(f.Path)
	return f
}

// finder returns a function that returns the number of a file in the import, even if the file was moved, and
// reports whether its content has changed. The number is -1 if the import does not have the file.
func (s *state) finder() func(file knownFile) (i int, isChanged bool) {
	files, areKnown := s.kept.Files, s.kept.Files != nil
	if !areKnown { // the state is of an older release
		for _, path := range s.kept.Input.paths() {
			files = append(files, knownFile{Path: absolute(path)})
		}
	}
	byPath, byContent := map[string]int{}, map[knownFile]int{}
	for i, f := range slices.Backward(files) { // so that the first of several is found
		byPath[f.Path] = i
		byContent[f.moved()] = i
	}
	return func(file knownFile) (int, bool) {
		same, found := byContent[file.moved()]
		at, isThere := byPath[file.Path]
		switch {
		case isThere && !areKnown:
			return at, false
		case isThere && (!found || at < same):
			return at, files[at] != file
		case found && areKnown:
			return same, false
		}
		return -1, false
	}
}

// settled has the progress of imports that have begun with some files.
type settled struct {
	begun   []*state // the oldest first
	fresh   []string // files that no import has
	changed []string // files with other content by now: the lines that were added are not imported
	grown   []string // the last files of their imports, which have become longer: the import continues in them

	copies []string // warnings about fresh files with the content of imported ones

	last, changedIn, grownIn *state // the import of the last file that has one, and of a changed or grown one
}

// settledOf looks for files, which known has described, in imports.
func settledOf(paths []string, files []knownFile, imports []*state) (found settled) {
	if len(imports) == 0 {
		return settled{fresh: paths}
	}
	finders := make([]func(knownFile) (int, bool), len(imports))
	for i, s := range imports {
		finders[i] = s.finder()
	}
	has := map[*state]bool{}
	for i, file := range files {
		isFresh := true
		for j, s := range imports {
			at, isChanged := finders[j](file)
			if at < 0 {
				continue
			}
			isFresh, has[s], found.last = false, true, s
			switch {
			case !isChanged:
			case at == len(s.kept.Files)-1 && file.Size > s.kept.Files[at].Size:
				found.grown, found.grownIn = append(found.grown, paths[i]), s
			default:
				found.changed, found.changedIn = append(found.changed, paths[i]), s
			}
		}
		if isFresh {
			found.fresh = append(found.fresh, paths[i])
			if text := copyOf(file, imports); text != "" {
				found.copies = append(found.copies, paths[i]+text)
			}
		}
	}
	found.begun = slices.DeleteFunc(slices.Clone(imports), func(s *state) bool { return !has[s] })
	return found
}

// copyOf returns a warning if an import has the content of a file under another name. It follows the name of
// the file.
func copyOf(file knownFile, imports []*state) string {
	for _, s := range imports {
		for _, f := range s.kept.Files {
			if file.Ends != "" && f.Ends == file.Ends && f.Size == file.Size && file.Size > 0 {
				return fmt.Sprintf(" has the content of %s, which %s has: if it is a copy, or was renamed, leave it out, since its events would be duplicated",
					filepath.Base(f.Path), s.dir)
			}
		}
	}
	return ""
}

// importsBelow returns the imports of a project below hogimport-state, oldest first. It leaves out folders that
// cannot be read, which hogimport status shows.
func importsBelow(project string) (all []*state) {
	dirs, _ := filepath.Glob(filepath.Join(stateRoot, "*"))
	for _, dir := range dirs {
		s := &state{dir: dir}
		found, err := s.read("import.json", &s.kept)
		isOther := s.kept.Key != "" && project != "" && s.kept.Key != project
		if err == nil && found && !isOther && !strings.HasPrefix(s.kept.ID, trialPrefix) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *state) int { return a.kept.Begun.Compare(b.kept.Begun) })
	return all
}

// importsBelow returns the imports that can have the events of these files: the users' properties in them are others.
func (in *input) importsBelow(project string) []*state {
	return slices.DeleteFunc(importsBelow(project), func(s *state) bool {
		return vendors[s.kept.Input.Format].isHistory != vendors[in.Format].isHistory
	})
}

// choose finds the state folder of a run and the files that its import gets: its own, followed by
// new ones once it is complete, or only new ones.
func (a *app) choose(ctx context.Context, r *runFlags, asked *input) (dir string, more []string, err error) {
	dir = r.state
	var imports []*state
	if dir == "" {
		dir = asked.folderOf(asked.Files)
		imports = asked.importsBelow(a.keyDigest(&r.project))
	}
	if isStarted(dir) && !slices.ContainsFunc(imports, func(s *state) bool { return s.dir == dir }) {
		s := &state{dir: dir}
		if _, err := s.read("import.json", &s.kept); err != nil {
			return dir, nil, err
		}
		imports = append(imports, s)
	}
	var files []knownFile
	if len(imports) > 0 {
		if files, err = known(ctx, asked.Files); err != nil {
			return dir, nil, err
		}
	}
	found := settledOf(asked.Files, files, imports)
	for _, text := range found.copies {
		a.Warn(text)
	}
	for _, s := range found.begun {
		is, _ := s.is()
		switch {
		case s.kept.Files == nil: // of an older release
			return s.dir, nil, nil
		case s.hasSentNothing():
			asked.Files = without(asked.Files, files, found, s)
			return s.dir, nil, nil
		case is != isComplete:
			a.later(found.fresh)
			asked.Files = s.filesAt(files)
			return s.dir, nil, nil
		}
	}
	switch {
	case r.state != "" && len(found.begun) == 0 && isTaken(dir) && !imports[0].hasSentNothing():
		return dir, nil, shell.UsageError(fmt.Sprintf("the import in %s began with other files, or with other content: %s", dir, filepath.Base(imports[0].kept.Files[0].Path)),
			"give other files a state folder of their own, with --state DIR")
	case len(found.changed) > 0:
		return dir, nil, shell.UsageError(fmt.Sprintf("changed since the import in %s, so added records would not be sent: %s", found.changedIn.dir, someFiles(found.changed)),
			"import it once more with --state and another folder, and leave it out here. Lines that were sent already are sent again: "+
				"with the --import-id of that import they keep their uuids if the file has only become longer")
	case len(found.begun) == 0:
		return freeFolder(dir, r.state), nil, nil
	}
	last := found.last
	if found.grownIn != nil && found.grownIn != last {
		last = found.grownIn
		a.later(found.fresh)
		found.fresh = nil
	}
	if len(found.fresh) == 0 {
		asked.Files = last.filesAt(files)
		return last.dir, nil, nil
	}
	why := last.cannotGrow(asked, files, found.fresh)
	switch {
	case why == "":
		asked.Files = append(last.filesAt(files), found.fresh...)
		return last.dir, found.fresh, nil
	case r.state != "":
		return dir, nil, shell.UsageError(fmt.Sprintf("the import in %s cannot take %s: %s", dir, someFiles(found.fresh), why),
			"import them into another state folder, with --state DIR")
	}
	a.Note(fmt.Sprintf("Already imported: %s of these files, by %s. The rest, %s, becomes another import: %s.",
		pages.Count(len(asked.Files)-len(found.fresh)), folders(found.begun), someFiles(found.fresh), why))
	if r.importID != "" && hasImport(r.importID) {
		return dir, nil, shell.UsageError("the import "+r.importID+" exists and cannot take these files: "+why, "give another --import-id, or none")
	}
	asked.Files = found.fresh
	return freeFolder(asked.folderOf(asked.Files), ""), nil, nil
}

// later says which files a run leaves to the next run.
func (a *app) later(fresh []string) {
	if len(fresh) > 0 {
		a.Note(fmt.Sprintf("This completes the import of the files that it began with. New since then: %s. Run the same command again for them.", someFiles(fresh)))
	}
}

// without returns the files that no import has, not counting the import nothing, which has sent nothing.
func without(paths []string, files []knownFile, found settled, nothing *state) (left []string) {
	others := slices.DeleteFunc(slices.Clone(found.begun), func(s *state) bool { return s == nothing })
	return settledOf(paths, files, others).fresh
}

// filesAt returns the files of an import at their present paths.
func (s *state) filesAt(files []knownFile) (paths []string) {
	for _, f := range s.kept.Files {
		paths = append(paths, f.Path)
	}
	find := s.finder()
	for _, file := range files {
		if at, _ := find(file); at >= 0 {
			paths[at] = file.Path
		}
	}
	return paths
}

// cannotGrow returns the reason why files cannot be added to an import, or "" if they can.
func (s *state) cannotGrow(asked *input, files []knownFile, fresh []string) string {
	names := func(paths []string) []string {
		if asked.Format == "jsonl" {
			return lines.NewFiles(paths).Names()
		}
		return lines.NewFilesOf(lines.Disk{}, paths).Names()
	}
	old := s.filesAt(files)
	were, are := names(old), names(append(slices.Clone(old), fresh...))
	isOld := map[string]bool{}
	for _, path := range old {
		isOld[path] = true
	}
	lastOld := 0
	for i, file := range files {
		if isOld[file.Path] {
			lastOld = i
		}
	}
	_, isOther := s.hasOtherMapping()
	switch {
	case isOther:
		return "another release with another mapping began the import"
	case s.kept.Input.Sort:
		return "the import is sorted as a whole"
	case s.kept.Input.Links:
		return "the import first joins the ids of all its files"
	case vendors[s.kept.Input.Format].isHistory:
		return "the import has the newest state of each person in its files"
	case slices.Index(asked.Files, fresh[0]) < lastOld:
		return "the new files do not come after its files"
	case !slices.Equal(were, are[:len(were)]), len(slices.Compact(slices.Sorted(slices.Values(are)))) < len(are):
		return "the new files have the same folder or names as its files"
	}
	return ""
}

// freeFolder returns a new state folder with a name like dir, unless the user named the folder.
func freeFolder(dir, given string) string {
	if given != "" {
		return dir
	}
	return numbered(dir, isTaken)
}

// numbered returns a name that is not taken: the given one, or with the first free number at its end.
func numbered(name string, isTaken func(name string) bool) string {
	free := name
	for n := 2; isTaken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// isTaken reports whether a folder has an import of files that are known. Other folders are named when they are
// opened.
func isTaken(dir string) bool {
	s := &state{dir: dir}
	found, err := s.read("import.json", &s.kept)
	return err == nil && found && s.kept.Files != nil
}

// hasImport reports whether an import of any project has a name.
func hasImport(id string) bool {
	return slices.ContainsFunc(importsBelow(""), func(s *state) bool { return s.kept.ID == id })
}

// someFiles names one file, or the first and the last.
func someFiles(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return fmt.Sprintf("%s files from %s to %s", pages.Count(len(paths)), filepath.Base(paths[0]), filepath.Base(paths[len(paths)-1]))
}

func folders(imports []*state) string {
	var dirs []string
	for _, s := range imports {
		dirs = append(dirs, s.dir)
	}
	return strings.Join(dirs, ", ")
}

// keepFiles saves the files that the import has from now on; earlier files keep their old sizes and digests.
// Once the import has read the last file, the caller calls read, which saves the file's size and digest.
func (s *state) keepFiles(ctx context.Context) (read func() error, err error) {
	was := s.kept.Files
	if s.kept.Files, err = known(ctx, s.kept.Input.Files); err != nil {
		return nil, err
	}
	last := len(s.kept.Files) - 1
	now := s.kept.Files[last]
	for i, f := range was[:min(len(was), last+1)] {
		s.kept.Files[i].Size, s.kept.Files[i].Ends = f.Size, f.Ends
	}
	return func() error {
		s.kept.Files[last] = now
		return s.save()
	}, s.save()
}
