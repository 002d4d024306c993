package hogapi_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// The queries of a receipt compare what the service has taken with what the project shows.
func ExampleReceipt_CountQueries() {
	server := hogapitest.New() // your program: NewClient with the project key, and a personal key with the scope query:read
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := client.Import(context.Background(), numbered(3), &hogapi.ImportOptions{ID: "orders-1998"})
	if err != nil {
		log.Fatal(err)
	}
	for _, query := range receipt.CountQueries() { // some hours later
		var answer struct{ Results [][]any }
		err := client.Do(context.Background(), hogapi.Request{
			Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe,
			Body: map[string]any{"query": query, "refresh": "force_blocking", "name": "compare an import"},
		}, &answer)
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range answer.Results {
			fmt.Println("day", row[0], "event", row[1], "uuids", row[3])
		}
	}
	fmt.Println("acknowledged", receipt.Acknowledged)
	// Output:
	// day 1998-01-01 event order placed uuids 3
	// acknowledged 3
}
