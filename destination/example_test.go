package destination_test

import (
	"encoding/json"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
)

// A config prints its keys, but not its credentials.
func ExampleS3() {
	config := destination.S3{
		BucketName: hogapi.Set("lake"), Region: hogapi.Null[string](), AWSSecretAccessKey: hogapi.Set(hogapi.NewSecret("very secret")),
	}
	text, err := json.Marshal(config)
	fmt.Println(string(text), err)
	// Output: {"aws_secret_access_key":"[redacted]","bucket_name":"lake","region":null} <nil>
}
