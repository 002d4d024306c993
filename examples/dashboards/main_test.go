package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestWithoutKeys(t *testing.T) {
	out := demotest.Run(t, nil, run)
	assert.Regexp(t, `(?m)^ID +NAME +TAGS`, out)
	assert.Regexp(t, `(?m)^1 +Company numbers +board, weekly +yes +yes +yes`, out)
	assert.Regexp(t, `(?m)^4 +Sign-ups`, out)
}

func TestADashboardWithoutNameHasARowToo(t *testing.T) {
	server := hogapitest.New()
	server.Project(hogapitest.DefaultProject).AddDashboard(hogapitest.Dashboard{Extra: map[string]any{"name": nil}})
	out := demotest.Run(t, server, run)
	assert.Regexp(t, `(?m)^1 +\(no name\)`, out)
}
