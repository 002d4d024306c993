module github.com/hogapi/hogapi/benchmarks

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/hogapi/hogapi v0.1.0
	github.com/klauspost/compress v1.20.3
	github.com/posthog/posthog-go v1.23.1
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/goccy/go-json v0.10.6 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.21.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/hogapi/hogapi => ../
