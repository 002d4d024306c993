package fetch

// Kind is the kind of problem that ended a download. The command chooses its exit code by it.
type Kind int

// The kinds of problems.
const (
	KindOther   Kind = iota
	KindOptions      // the options make no sense, or differ from the folder's first options
	KindKey          // the service refused the key
	KindStopped      // the context was cancelled, or the service asks for a long wait; Run resumes
	KindNotYet       // the end of the range is not over yet; all before it is there
)

// Problem is why a download is not complete.
type Problem struct {
	Kind  Kind
	Text  string // the problem and its place
	Todo  string // advice
	Cause error  // may be nil
}

// Error implements error.
func (p *Problem) Error() string { return p.Text + ": " + p.Todo }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

func optionsProblem(text, todo string) error {
	return &Problem{Kind: KindOptions, Text: text, Todo: todo}
}
