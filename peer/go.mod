module github.com/hogapi/hogapi/peer

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/hogapi/hogapi v0.0.0
	github.com/stretchr/testify v1.12.1
)

replace github.com/hogapi/hogapi => ../
