package httptry

import "sync"

// The retry budget of a client, in tokens.
const (
	MostTokens  = 500 // tokens of a client
	CostOfRetry = 5
	costSilent  = 10 // of a retry after a timeout: it takes the caller longer
)

// Tokens keep a total outage from multiplying the load: a retry takes tokens, a success
// gives some back.
type Tokens struct {
	mu     sync.Mutex
	tokens int
}

// NewTokens returns a full budget.
func NewTokens() *Tokens { return &Tokens{tokens: MostTokens} }

// Take pays for one retry, or reports that there is nothing left.
func (t *Tokens) Take(cost int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tokens < cost {
		return false
	}
	t.tokens -= cost
	return true
}

// give returns tokens: the cost of a retry that succeeded, or 1 for a first try that did.
func (t *Tokens) give(tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = min(t.tokens+tokens, MostTokens)
}

// Account pays for the retries of one call with Tokens.
type Account struct {
	Tokens *Tokens

	paid int // for the newest retry
}

// Pay pays for the retry that a verdict grants, or reports that the budget is used up.
func (a *Account) Pay(v Verdict) bool {
	a.paid = CostOfRetry
	if v.Silent {
		a.paid = costSilent
	}
	return a.Tokens.Take(a.paid)
}

// Refund returns the cost of a retry that never began.
func (a *Account) Refund() { a.Tokens.give(a.paid) }

// Succeed returns the cost of the retry that succeeded, or 1 where the first try did.
func (a *Account) Succeed() { a.Tokens.give(max(a.paid, 1)) }
