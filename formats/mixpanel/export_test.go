package mixpanel

// Table is the table of the properties of a record.
var Table = table
