module github.com/hogapi/hogapi/realdb

go 1.26.0

require github.com/hogapi/hogapi v0.1.0

require (
	github.com/c-bata/go-prompt v0.2.6 // indirect
	github.com/chdb-io/chdb-go v1.11.0 // indirect
	github.com/ebitengine/purego v0.8.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mattn/go-runewidth v0.0.15 // indirect
	github.com/mattn/go-tty v0.0.5 // indirect
	github.com/pkg/term v1.2.0-beta.2 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/sys v0.22.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/hogapi/hogapi => ../
