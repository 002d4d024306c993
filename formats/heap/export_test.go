package heap

// Table is the table of the columns.
var Table = table
