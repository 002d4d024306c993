// Package coverage finds the intervals of a batch export that are not exported, and repairs them.
//
// [Of] reads the runs, backfills and settings of an export, and names each interval with its state. [MakePlan] says how
// its gaps can be exported, with which side effects, and changes nothing. [Repair] carries the plan out, and continues
// after a kill. [DownloadRange] has the rows of any range as files.
package coverage
