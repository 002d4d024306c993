package hogbeam

import (
	"fmt"
	"os"
	"strings"

	"github.com/hogapi/hogapi"
)

// SecretRef says where a worker finds a key: in a variable of its environment or in a file. Exactly one of them is set. The job that
// travels to a runner, and that a runner's pages show, holds this reference and never the key.
type SecretRef struct {
	Env  string // name of a variable
	File string // path of a file, whose blanks at the ends do not count
}

// check refuses a reference that is none, above all a key in its place. It never repeats the text.
func (r SecretRef) check(field string) error {
	const want = "the name of an environment variable or of a file, one of them"
	for _, text := range []string{r.Env, r.File} {
		if strings.Contains(text, "phc_") || strings.Contains(text, "phx_") {
			return &hogapi.InputError{Field: field, Want: want + "; this is a key: it would be in the job for everybody to read"}
		}
	}
	if (r.Env == "") == (r.File == "") {
		return &hogapi.InputError{Field: field, Want: want}
	}
	return nil
}

// Try looks whether the key can be found on this machine, and never shows it.
func (r SecretRef) Try() error {
	_, err := r.read()
	return err
}

// read finds the secret, on the worker.
func (r SecretRef) read() (string, error) {
	if r.Env != "" {
		if key := strings.TrimSpace(os.Getenv(r.Env)); key != "" {
			return key, nil
		}
		return "", fmt.Errorf("hogbeam: this machine has no key in the environment variable %s", r.Env)
	}
	content, err := os.ReadFile(r.File)
	if err != nil {
		return "", fmt.Errorf("hogbeam: this machine cannot read the key: %w", err)
	}
	if key := strings.TrimSpace(string(content)); key != "" {
		return key, nil
	}
	return "", fmt.Errorf("hogbeam: the key's file %s is empty", r.File)
}
