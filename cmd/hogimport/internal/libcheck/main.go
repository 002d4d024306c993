package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

func main() {
	t := time.Now()
	r, err := formats.Check(context.Background(), mixpanel.Format(nil), &formats.CheckOptions{Import: &hogapi.ImportOptions{ID: "check"}, Test: new(mixpanel.ZoneTest)}, os.Args[1:]...)
	fmt.Println(r.Good, err, time.Since(t))
}
