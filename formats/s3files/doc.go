// Package s3files reads the objects of an S3 bucket as a file system, for history.FilesFS: an import reads them
// directly from the bucket. So does a comparison of rows, by reconcile.JSONLines and parquet.Rows. It is a separate
// module, since it needs github.com/aws/aws-sdk-go-v2.
//
//	files := s3files.New(ctx, s3.NewFromConfig(config), "bucket", "exports/mixpanel")
//	source := history.FilesFS(mixpanel.Format(nil), files, "2024/*.json.gz")
//
// Keys, region, endpoint and the retries of requests come from the *s3.Client. It needs the
// permission s3:GetObject, and for patterns s3:ListBucket.
//
// # Versions
//
// The ETag that an object has when it is first listed or looked up names its version. If the object has been
// replaced since, reading it fails with [ErrReplaced], so no import reads parts of two versions. A checkpoint
// keeps the ETag of the object that it is in, so a later run does not resume in another object of the same key.
// An object that was uploaded again with the same content can have another ETag: the import then needs a new
// checkpoint, and its events keep their uuids. Make a new file system to see newer objects.
//
// # Requests
//
// An object is read in ranges of 256 KiB at first, and of up to 4 MiB later, into one buffer for each open
// file. A body that is cut off is continued at the same byte, until 5 tries in a row have brought no byte. A
// packed object of up to history.Options.VerifyArchiveBytes is read twice: set that to -1 to read it once.
// Listing takes a request for each 1,000 keys, and about 300 bytes of memory for each key.
//
// # Not promised
//
// Keys with an empty element, "." or ".." in their path cannot be named: a pattern that finds one is an error.
// Restore archived objects before an import. Objects that are encrypted with a customer's key (SSE-C), and
// buckets with Requester Pays, need a client that adds the headers.
package s3files
