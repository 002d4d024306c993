package umami

// Table is the table of the columns.
var Table = table
