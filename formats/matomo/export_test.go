package matomo

// Table is the table of the members.
var Table = table
