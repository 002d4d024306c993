// Package s3files reads the objects of an S3 bucket as a file system, for hogapi.FileSourceFS: an
// import reads them where they are. It is a module of its own, since it needs
// github.com/aws/aws-sdk-go-v2.
//
//	files := s3files.New(ctx, s3.NewFromConfig(config), "bucket", "exports/mixpanel")
//	source := hogapi.FileSourceFS(mixpanel.Format(nil), files, "2024/*.json.gz")
//
// Keys, region, endpoint and the retries of requests come from the *s3.Client. It needs the
// permission s3:GetObject, and for patterns s3:ListBucket.
//
// # Versions
//
// An object is the one that its ETag names when it is first listed or looked at. If it has been
// replaced since, reading it is [ErrReplaced]: no import takes one half of either. A checkpoint
// keeps the ETag of the object that it is in, so a later run does not resume in another object of
// the same key. An object that was uploaded once more, with the same content, can have another
// ETag: it then needs a new checkpoint, and its events keep their uuids. Make a new file system to
// see newer objects.
//
// # Requests
//
// An object is read in ranges of 256 KiB at first, and up to 4 MiB where it is read on, into a
// buffer for each open file. A body that is cut off is continued at the same byte, until 5 tries in
// a row have brought nothing. A packed object of up to ImportOptions.VerifyArchiveBytes is read twice: set
// that to -1 to read it once. Listing takes a request for each 1,000 keys, and about 300 bytes of
// memory a key are kept.
//
// # Not promised
//
// Keys with an empty element, "." or ".." in their path cannot be named: a pattern that finds one is an error.
// Restore archived objects before an import. Objects with a key of the customer (SSE-C) and buckets with Requester
// Pays need a client that adds the headers.
package s3files
