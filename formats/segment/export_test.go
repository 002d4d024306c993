package segment

// Table is the table of the fields of a call.
var Table = table
