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
	receipt, err := client.Import(context.Background(), hogapi.FileSource(format, path), &hogapi.ImportOptions{ID: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Acknowledged, "orders from", receipt.Oldest.Format("2006-01-02 15:04"), "to", receipt.Newest.Format("15:04"))
	// Output: 2 orders from 2024-05-01 12:30 to 12:31
}
