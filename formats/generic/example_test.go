package generic_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// A table with columns of other names is imported with a map of them.
func ExampleFormat() {
	folder, err := os.MkdirTemp("", "hogapi-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "orders.csv")
	content := "order,customer,placed,price,note\n7,ann,2024-05-01 12:30:00,12.50,\"a, b\"\n8,ben,2024-05-01 12:31:00,7,\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}

	format, err := generic.Format(&generic.Options{
		Map:  []string{"uuid=order", "person=customer", "time=placed", "price=price|number", "event=const:order placed"},
		Zone: time.UTC,
	})
	if err != nil {
		log.Fatal(err)
	}
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := history.Import(context.Background(), client, history.Files(format, path), &history.Options{ID: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Acknowledged, "orders from", receipt.Oldest.Format("2006-01-02 15:04"), "to", receipt.Newest.Format("15:04"))
	// Output: 2 orders from 2024-05-01 12:30 to 12:31
}

// Each hit of a visit becomes an event. The names of events go through a table, times are in a zone that a column names,
// and test visits are left out.
func ExampleFormat_lists() {
	format, err := generic.Format(&generic.Options{Map: []string{
		"[]=hits|json", "event=hits.type|table:page=$pageview,*=*", "$current_url=hits.url", "amount=hits.sum|number:1.234,5",
		"person=user", "person=device", "time=hits.at|zone:tz", "skip=site|is:test", "drop=*|empty", "drop=tz",
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, record := range []string{
		`{"user":"","device":"d1","site":"shop","tz":"Europe/Berlin","note":"",` +
			`"hits":"[{\"type\":\"page\",\"url\":\"/a\",\"at\":\"2024-05-01 14:00\"},{\"type\":\"buy\",\"sum\":\"1.250,00\",\"at\":\"2024-05-01 14:01\"}]"}`,
		`{"site":"test"}`,
	} {
		events, err := format.Convert([]byte(record))
		if err != nil {
			fmt.Println(err)
		}
		for _, ev := range events {
			fmt.Println(ev.Name, ev.DistinctID, ev.Timestamp.Format(time.TimeOnly), string(ev.RawProperties))
		}
	}
	// Output:
	// $pageview d1 12:00:00 {"site":"shop","$current_url":"/a"}
	// buy d1 12:01:00 {"site":"shop","amount":1250.00}
	// hogapi: the record is skipped: skip=site|is:test
}
