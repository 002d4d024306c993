package hogapi

type BatchExportsService service
type BackfillsService service
type RunsService service
type AppMetricsService service
type DashboardsService service
type Position struct{}
