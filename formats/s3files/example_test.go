package s3files_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/s3files"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleNew() {
	ctx := context.Background()
	storage := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	defer storage.Close()
	bucket := clientOf(storage.URL) // yours: s3.NewFromConfig(config), with config.LoadDefaultConfig(ctx) of the AWS SDK
	fill(ctx, bucket)
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	files := s3files.New(ctx, bucket, "exports", "posthog")
	source := history.FilesFS(files, posthogexport.Format(nil), "2024/*.jsonl")
	receipt, err := history.Import(ctx, client, source, &history.Options{ID: "us-to-eu"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events")
	// Output:
	// 2 events
}

// fill writes two objects of one event each.
func fill(ctx context.Context, bucket *s3.Client) {
	if _, err := bucket.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("exports")}); err != nil {
		panic(err)
	}
	for day := 1; day <= 2; day++ {
		const row = `{"uuid":"018d5e00-0000-7000-8000-00000000000%d","event":"ordered","distinct_id":"ann","timestamp":"2024-01-0%dT00:00:00Z","properties":{}}`
		_, err := bucket.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String("exports"), Key: aws.String(fmt.Sprintf("posthog/2024/%d.jsonl", day)),
			Body: strings.NewReader(fmt.Sprintf(row, day, day) + "\n"),
		})
		if err != nil {
			panic(err)
		}
	}
}
