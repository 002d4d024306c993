package hogapi

type BatchExportsService service
type BackfillsService service
type AppMetricsService service
type DashboardsService service
type Position struct{}
