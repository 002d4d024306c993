package snowplow

// Columns are the columns of a line.
var Columns = columns

// Table is the table of the columns.
var Table = table
