package useragent

import (
	"strings"
	"sync"

	"github.com/hogapi/hogapi/formats"
)

// Cached returns a parser that remembers up to size agents, the ones that were asked for last: a history has many events of few agents.
// An agent takes about half a kilobyte, at most two. With a size below 2, nothing is remembered.
func Cached(size int) formats.AgentParser {
	if size < 2 {
		return Parse
	}
	c := &cache{limit: size / 2, young: map[string]formats.Agent{}}
	return c.parse
}

// cache has two generations of agents. When the young one is full, it becomes the old one; an agent of the old one is
// dropped unless it is looked up again.
type cache struct {
	limit int // of a generation

	mu         sync.RWMutex
	young, old map[string]formats.Agent
}

func (c *cache) parse(userAgent string) formats.Agent {
	userAgent = shortened(userAgent)
	c.mu.RLock()
	a, isYoung := c.young[userAgent]
	isOld := false
	if !isYoung {
		a, isOld = c.old[userAgent]
	}
	c.mu.RUnlock()
	if isYoung {
		return a
	}
	if !isOld {
		userAgent = strings.Clone(userAgent) // which may be a part of a whole record
		a = Parse(userAgent)
	}
	c.add(userAgent, a)
	return a
}

func (c *cache) add(userAgent string, a formats.Agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.limit {
		c.young, c.old = make(map[string]formats.Agent, c.limit), c.young
	}
	c.young[userAgent] = a
}
