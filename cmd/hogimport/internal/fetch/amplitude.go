package fetch

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Amplitude is the event export of an Amplitude project: GET /api/2/export. It needs the project's API key
// and secret key.
type Amplitude struct {
	Region string // us (the default) or eu
	Host   string // in place of the region's; https, except on this machine

	APIKey    string
	SecretKey string
}

// amplitudeDelay is the time after an hour until its events can be exported.
const amplitudeDelay = 2 * time.Hour

func (a Amplitude) plan() (export, error) {
	base, err := baseOf("Amplitude", a.Host, a.Region, region{"us", "amplitude.com"}, region{"eu", "analytics.eu.amplitude.com"})
	switch {
	case err != nil:
		return export{}, err
	case a.APIKey == "" || a.SecretKey == "":
		return export{}, optionsProblem("a key of Amplitude is missing",
			"set AMPLITUDE_API_KEY and AMPLITUDE_SECRET_KEY: both are in the project's settings")
	}
	over := func(hour int) time.Time { return time.Unix(int64(hour+1)*60*60, 0).UTC().Add(amplitudeDelay) }
	return export{
		vendor: "Amplitude", unit: time.Hour, unitName: "hours", layout: "20060102T15", step: 24,
		prefix: "amplitude-", ending: ".zip",
		identity: identity{Vendor: "amplitude", Host: base.Host, Project: "key " + fingerprint(a.APIKey)},
		settled:  over, late: over,
		base: base, query: a.query, sign: a.sign,
		receive: receiveZip, check: checkZipFile, at: amplitudeTime,
		emptyIs404: true, tooLargeIs: http.StatusBadRequest,
		tooLargeText: "Amplitude refused a single hour (400), as it does where one has more than 4 GB",
		tooLargeTodo: "export that hour through Amplitude's S3 destination",
		where:        HostFlag(a.Host),
		keyHint:      "check the API key, the secret key, and " + HostFlag(a.Host),
	}, nil
}

func (a Amplitude) query(first, last string) string {
	return "/api/2/export?" + url.Values{"start": {first}, "end": {last}}.Encode()
}

func (a Amplitude) sign(r *http.Request) {
	r.Header.Set("Accept-Encoding", "identity") // a zip archive gets no smaller, and keeps its length
	r.SetBasicAuth(a.APIKey, a.SecretKey)
}

func receiveZip(w io.Writer, answer *http.Response) error {
	n, err := io.Copy(w, answer.Body)
	if err == nil && n == 0 {
		return notWhole("the archive is empty")
	}
	return err
}

func checkZipFile(ctx context.Context, path string, lines *lineCheck) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return notWhole("the zip archive is damaged or cut off")
	}
	const maxMembers = 50_000 // of a day; an hour has some hundred files
	if len(archive.File) > maxMembers {
		return notWhole(fmt.Sprintf("the zip archive has %d files", len(archive.File)))
	}
	var packed gzip.Reader
	for _, member := range archive.File {
		if strings.HasSuffix(member.Name, "/") {
			continue
		}
		if err := checkMember(ctx, member, &packed, lines); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(ctx context.Context, member *zip.File, packed *gzip.Reader, lines *lineCheck) error {
	r, err := member.Open()
	if err != nil {
		return notWhole("a file in the zip archive cannot be read")
	}
	defer r.Close()
	var plain io.Reader = r
	if strings.HasSuffix(member.Name, ".gz") {
		if err := packed.Reset(r); err != nil {
			return notWhole("a packed file in the zip archive is damaged or cut off")
		}
		plain = packed
	}
	return lines.read(ctx, plain) // to the end of the member, where the archive's own sum is compared
}

// amplitudeTime is the time when an event was uploaded.
func amplitudeTime(line []byte) (at time.Time) {
	_ = jsonb.Object(line, func(key, value []byte) {
		if string(key) == "server_upload_time" {
			at, _ = time.Parse(`"2006-01-02 15:04:05.999999"`, string(value))
		}
	})
	return at
}
