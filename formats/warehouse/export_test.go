package warehouse

// The tables of columns.
var (
	SegmentColumns   = segmentColumns
	AmplitudeColumns = amplitudeColumns
	GA4Columns       = ga4Columns
)
