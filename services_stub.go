package hogapi

type BackfillsService service
type Position struct{}
