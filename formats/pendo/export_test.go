package pendo

// Table is the table of the members.
var Table = table
