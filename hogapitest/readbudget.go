package hogapitest

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readMeter counts the bytes that queries of a project read, as an engine that stores events by day and name reads
// them, and holds the budget for reading.
type readMeter struct {
	total    int64   // bytes, of all queries
	balance  float64 // bytes
	refilled time.Time
}

// The bytes of a column of events, in each row. The size of properties is an option.
var columnBytes = map[string]int64{"uuid": 16, "timestamp": 8, "created_at": 8, "event": 20, "distinct_id": 36}

const (
	usualProperties = 1_000
	budgetHours     = 24 // that a budget has room for
)

// ReadBytes returns how many bytes the project's queries have read so far: the rows of their days and names times the columns
// that they name.
func (p *Project) ReadBytes() int64 {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.meter.total
}

// SpendReadBudget takes bytes from the project's budget, as queries of others do: see [WithReadBudget].
func (p *Project) SpendReadBudget(bytes int64) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.refill()
	p.meter.balance = max(p.meter.balance-float64(bytes), -float64(p.server.readsPerHour))
}

// refill brings the balance up to date. It begins full, and is never below an hour's worth of debt.
func (p *Project) refill() {
	perHour, m, now := float64(p.server.readsPerHour), &p.meter, p.server.now()
	if m.refilled.IsZero() {
		m.balance, m.refilled = perHour*budgetHours, now
	}
	m.balance = min(perHour*budgetHours, m.balance+now.Sub(m.refilled).Hours()*perHour)
	m.refilled = now
}

// checkBudget refuses a query while the budget is spent.
func (s *Server) checkBudget(p *Project) {
	if s.readsPerHour == 0 {
		return
	}
	p.refill()
	if p.meter.balance > 0 {
		return
	}
	a := failure(http.StatusTooManyRequests, "throttled_error", "api_queries_budget_exceeded", "API queries budget exceeded.", "")
	wait := math.Ceil(-p.meter.balance / float64(s.readsPerHour) * time.Hour.Seconds())
	a.header.Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	refuse(a)
}

// debit charges the bytes of a query, and returns the headers of its answer. A query that exceeds the budget is still
// answered.
func (s *Server) debit(p *Project, read int64) http.Header {
	p.meter.total += read
	header := http.Header{}
	if s.readsPerHour == 0 {
		return header
	}
	p.meter.balance = max(p.meter.balance-float64(read), -float64(s.readsPerHour))
	header.Set("X-PostHog-Query-Bytes-Read", strconv.FormatInt(read, 10))
	header.Set("X-PostHog-Query-Budget-Remaining-Bytes", strconv.FormatInt(int64(p.meter.balance), 10))
	return header
}

// checkQuerySize refuses a query that would read or hold more than the limits allow.
func (s *Server) checkQuerySize(rows int, read int64) {
	if s.maxQueryBytes > 0 && read > s.maxQueryBytes {
		refuse(invalid("", "too_many_bytes", fmt.Sprintf("Limit for rows or bytes to read exceeded: max bytes: %d", s.maxQueryBytes)))
	}
	if s.maxQueryRows > 0 && rows > s.maxQueryRows {
		refuse(failure(513, "server_error", "clickhouse_memory_limit_exceeded", "This query ran out of memory before it could finish.", ""))
	}
}

// reading is the number of rows that the innermost query of events reads, and their bytes.
func (s *Server) reading(q *hogQuery, p *Project, zone *time.Location) (rows int, read int64) {
	if q.table != "events" {
		return 0, 0
	}
	var bytes int64
	var named []string
	for _, n := range q.reads {
		name, _, _ := strings.Cut(n.name, ".")
		if slices.Contains(named, name) {
			continue
		}
		named = append(named, name)
		if name == "properties" {
			bytes += or(s.propertyBytes, usualProperties)
		}
		bytes += columnBytes[name]
	}
	t := &s.table
	for _, key := range q.days(t, p.id) {
		for row := range (hogGroup{t.cells[key], t.column(zone), zone}).each {
			if !slices.ContainsFunc(q.where, func(n *hogNode) bool { return !n.mayHold(row) }) {
				rows++
			}
		}
	}
	return rows, int64(rows) * bytes
}

// mayHold reports whether a condition can hold for a row by its sort key: its time and its name.
func (n *hogNode) mayHold(row hogGroup) bool {
	switch {
	case n.name == "AND":
		return n.args[0].mayHold(row) && n.args[1].mayHold(row)
	case n.name == "OR":
		return n.args[0].mayHold(row) || n.args[1].mayHold(row)
	case len(n.args) < 2 || n.args[0].name != "timestamp" && n.args[0].name != "event",
		slices.ContainsFunc(n.args[1:], func(arg *hogNode) bool { return arg.value == nil }):
		return true
	}
	return n.eval(row) == true
}
