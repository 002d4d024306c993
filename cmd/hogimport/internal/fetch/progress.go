package fetch

import "time"

// Progress receives the steps of a download. Its methods are called one at a time.
type Progress interface {
	// Begin comes first: of total days or hours, held are there already.
	Begin(unit string, total, held int)
	// Asking is called before each request, with the range that it is for.
	Asking(part string)
	// Received is called while an answer arrives, with the further bytes.
	Received(bytes int)
	// Whole is called for a part that is in its place. Further units are there.
	Whole(part Part, units int)
	// Waiting says why nothing happens until a time.
	Waiting(reason string, until time.Time)
	// Notice is a sentence that a user should read.
	Notice(text string)
}

// Part is a file of a download that is whole.
type Part struct {
	First  string    `json:"first"` // day or hour, which is in it
	Last   string    `json:"last"`  // day or hour, which is in it
	File   string    `json:"file"`  // name in the folder
	Bytes  int64     `json:"bytes"`
	Events int64     `json:"events"`
	At     time.Time `json:"at"`              // of the download
	Early  bool      `json:"early,omitempty"` // late events may still be added to it
}

// Summary counts the parts of the range that the folder has.
type Summary struct {
	Parts   int
	Empty   int // parts without an event
	Events  int64
	Bytes   int64
	Fetched int       // parts that this run has downloaded
	Early   []Part    // parts to which late events may still be added
	Final   time.Time // after this time, no events are added to Early
	Pattern string    // of the files, for the commands that read them
}

type silent struct{}

func (silent) Begin(string, int, int)    {}
func (silent) Asking(string)             {}
func (silent) Received(int)              {}
func (silent) Whole(Part, int)           {}
func (silent) Waiting(string, time.Time) {}
func (silent) Notice(string)             {}
