package hogapi

import (
	"errors"
	"fmt"
	"math"

	"github.com/hogapi/hogapi/internal/ledger"
)

// rejectLimits say when an import has rejected too much. Its zero value has no limits.
type rejectLimits struct {
	share  float64 // of the records that are not skipped; 0: no limit
	number int64   // of rejects; 0: no limit

	isCheck  bool  // nothing is sent or saved
	isJudged bool  // the share was judged; next at the end
	first    error // of this run
}

const (
	defaultRejectShare = 0.01
	firstRecords       = 100  // if they are all rejected, the import stops
	enoughRecords      = 1000 // before so many the share is judged at the end only
	fewestRejects      = 2    // the share says nothing about fewer
)

func (o ImportOptions) rejectLimits() rejectLimits {
	l := rejectLimits{share: o.MaxRejectShare, number: o.MaxRejects}
	switch {
	case l.share == 0:
		l.share = defaultRejectShare
	case l.share < 0:
		l.share = 0
	}
	return l
}

// hasShare reports whether the share of rejects is limited.
func (l *rejectLimits) hasShare() bool { return l.share > 0 }

// step is how many rejects may be committed at once: after them the limits may stop the import.
func (l *rejectLimits) step(c ledger.Counts) int {
	step := int64(math.MaxInt)
	if judged := c.Acknowledged + c.Rejected; l.hasShare() && judged < enoughRecords {
		step = enoughRecords - judged
		if c.Acknowledged == 0 {
			step = firstRecords - c.Rejected
		}
	}
	if l.number > 0 {
		step = min(step, l.number-c.Rejected+1)
	}
	return int(max(step, 1))
}

// note remembers an example.
func (l *rejectLimits) note(r *Reject) {
	if l.first == nil {
		l.first = r.Err
	}
}

// judge returns an error once too much is rejected.
func (l *rejectLimits) judge(c ledger.Counts) error {
	judged := c.Acknowledged + c.Rejected
	switch {
	case l.number > 0 && c.Rejected > l.number:
		return l.stop(c, fmt.Sprintf("more than MaxRejects (%d)", l.number))
	case l.hasShare() && c.Acknowledged == 0 && c.Rejected >= firstRecords:
		return l.stop(c, "every one of the first records")
	case judged >= enoughRecords && !l.isJudged:
		l.isJudged = true
		return l.judgeShare(c)
	}
	return nil
}

func (l *rejectLimits) judgeShare(c ledger.Counts) error {
	if l.isOverShare(c) {
		return l.stop(c, fmt.Sprintf("more than MaxRejectShare (%g)", l.share))
	}
	return nil
}

// judgeBefore judges what earlier runs have left.
func (l *rejectLimits) judgeBefore(c ledger.Counts) error {
	err := l.judge(c)
	if stop, ok := errors.AsType[*StopError](err); ok {
		stop.Err = fmt.Errorf("in the runs before, %w", stop.Err)
	}
	return err
}

// judgeEnd judges an import whose source is at its end.
func (l *rejectLimits) judgeEnd(c ledger.Counts) error {
	if l.hasShare() && c.Acknowledged == 0 && c.Rejected > 0 {
		return l.stop(c, "every record of the source")
	}
	if err := l.judgeShare(c); err != nil {
		return err
	}
	return l.judge(c)
}

func (l *rejectLimits) isOverShare(c ledger.Counts) bool {
	return l.hasShare() && c.Rejected >= fewestRejects && float64(c.Rejected) > l.share*float64(c.Acknowledged+c.Rejected)
}

func (l *rejectLimits) stop(c ledger.Counts, what string) error {
	err := fmt.Errorf("%d of %d records were rejected, %s", c.Rejected, c.Acknowledged+c.Rejected, what)
	if c.Acknowledged == 0 && l.hasShare() && !l.isCheck {
		err = fmt.Errorf("%w; no place was saved", err)
	}
	switch {
	case l.first == nil:
	case l.isCheck:
		err = fmt.Errorf("%w; the first: %w", err, bare(l.first))
	default:
		err = fmt.Errorf("%w; the first of this run: %w", err, bare(l.first))
	}
	return &StopError{Reason: StopTooManyRejects, Err: err}
}
