// Package coverage finds the intervals of a batch export that are not exported, and repairs them.
//
// [Of] reads the runs, backfills and settings of an export, and names each interval with its state. [MakePlan] says how
// its gaps can be exported, with which side effects, and changes nothing. [Repair] carries the plan out, and continues
// after a kill. [Download] gets the rows of any range or query as files, with a proof that all are there;
// [DownloadRange] yields the files of a range one by one.
package coverage
