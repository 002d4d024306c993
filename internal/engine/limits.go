package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
)

// RejectLimits say when an import has too many rejects. The zero value has no limits.
type RejectLimits struct {
	Share float64 // of the records that are not skipped; 0: no limit
	Most  int64   // rejects; 0: no limit

	IsCheck bool  // nothing is sent or saved
	First   error // of this run

	isJudged bool // the share was judged; next at the end
}

const (
	firstRecords  = 100  // if they are all rejected, the import stops
	enoughRecords = 1000 // before so many the share is judged at the end only
	fewestRejects = 2    // the share says nothing about fewer
)

func (l *RejectLimits) hasShare() bool { return l.Share > 0 }

// step returns the number of rejects that may be committed at once: the limits may stop the import after them.
func (l *RejectLimits) step(c ledger.Counts) int {
	step := int64(math.MaxInt)
	if judged := c.Acknowledged + c.Rejects(); l.hasShare() && judged < enoughRecords {
		step = enoughRecords - judged
		if c.Acknowledged == 0 {
			step = firstRecords - c.Rejects()
		}
	}
	if l.Most > 0 {
		step = min(step, l.Most-c.Rejects()+1)
	}
	return int(max(step, 1))
}

// Judge returns a stop once there are too many rejects.
func (l *RejectLimits) Judge(c ledger.Counts) error {
	judged := c.Acknowledged + c.Rejects()
	switch {
	case l.Most > 0 && c.Rejects() > l.Most:
		return l.stop(c, fmt.Sprintf("more than MaxRejects (%d)", l.Most))
	case l.hasShare() && c.Acknowledged == 0 && c.Rejects() >= firstRecords:
		return l.stop(c, "every one of the first records")
	case judged >= enoughRecords && !l.isJudged:
		l.isJudged = true
		return l.judgeShare(c)
	}
	return nil
}

func (l *RejectLimits) judgeShare(c ledger.Counts) error {
	if l.hasShare() && c.Rejects() >= fewestRejects && float64(c.Rejects()) > l.Share*float64(c.Acknowledged+c.Rejects()) {
		return l.stop(c, fmt.Sprintf("more than MaxRejectShare (%g)", l.Share))
	}
	return nil
}

// JudgeBefore judges the counts of earlier runs.
func (l *RejectLimits) JudgeBefore(c ledger.Counts) error {
	err := l.Judge(c)
	if stop, ok := errors.AsType[*event.StopError](err); ok {
		stop.Err = fmt.Errorf("in the runs before, %w", stop.Err)
	}
	return err
}

// JudgeEnd judges an import at the end of its source.
func (l *RejectLimits) JudgeEnd(c ledger.Counts) error {
	if l.hasShare() && c.Acknowledged == 0 && c.Rejects() > 0 {
		return l.stop(c, "every record of the source")
	}
	if err := l.judgeShare(c); err != nil {
		return err
	}
	return l.Judge(c)
}

func (l *RejectLimits) stop(c ledger.Counts, what string) error {
	err := fmt.Errorf("%d of %d records were rejected, %s", c.Rejects(), c.Acknowledged+c.Rejects(), what)
	if c.Acknowledged == 0 && l.hasShare() && !l.IsCheck {
		err = fmt.Errorf("%w; no position was saved", err)
	}
	switch {
	case l.First == nil:
	case l.IsCheck:
		err = fmt.Errorf("%w; the first: %w", err, errtext.WithoutPrefix(l.First))
	default:
		err = fmt.Errorf("%w; the first of this run: %w", err, errtext.WithoutPrefix(l.First))
	}
	return &event.StopError{Reason: event.StopTooManyRejects, Err: err, IsCheck: l.IsCheck}
}
