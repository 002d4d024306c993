package fetch

// Kind is the kind of problem that ended a download. The command chooses its exit code by it.
type Kind int

// The kinds of problems.
const (
	KindOther   Kind = iota
	KindOptions      // the options cannot be meant, or differ from those that the folder was begun with
	KindKey          // the service refused the key
	KindStopped      // the context was cancelled, or the service asks for a long wait; Run resumes
	KindNotYet       // the end of the range is not over yet; all before it is there
)

// Problem is why a download is not complete.
type Problem struct {
	Kind  Kind
	Text  string // what is wrong, and where
	Todo  string // what to do next
	Cause error  // may be nil
}

// Error implements error.
func (p *Problem) Error() string { return p.Text + ": " + p.Todo }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

func optionsProblem(text, todo string) error {
	return &Problem{Kind: KindOptions, Text: text, Todo: todo}
}
