package httptry

import "sync"

// What retries cost.
const (
	BudgetSize  = 500 // tokens of a client
	CostOfRetry = 5
	costSilent  = 10 // of a retry after a timeout: it takes the caller longer
)

// Budget keeps a total outage from multiplying the load (T14): a retry takes tokens, a success
// gives some back.
type Budget struct {
	mu     sync.Mutex
	tokens int
}

// NewBudget returns a full budget.
func NewBudget() *Budget { return &Budget{tokens: BudgetSize} }

// Take pays for one retry, or reports that there is nothing left.
func (b *Budget) Take(cost int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < cost {
		return false
	}
	b.tokens -= cost
	return true
}

// give returns tokens: the cost of a retry that succeeded, or 1 for a first try that did.
func (b *Budget) give(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+tokens, BudgetSize)
}

// Account is what one call takes from a Budget.
type Account struct {
	Budget *Budget

	paid int // for the newest retry
}

// Pay pays for the retry that a verdict grants, or reports that the budget is used up.
func (a *Account) Pay(v Verdict) bool {
	a.paid = CostOfRetry
	if v.Silent {
		a.paid = costSilent
	}
	return a.Budget.Take(a.paid)
}

// Refund returns what a retry cost that never began.
func (a *Account) Refund() { a.Budget.give(a.paid) }

// Succeed returns the cost of the retry that succeeded, or 1 where the first try did.
func (a *Account) Succeed() { a.Budget.give(max(a.paid, 1)) }
