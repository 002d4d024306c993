// Package engine runs a real Temporal server in this process, with its data in one SQLite file.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	host    = "127.0.0.1"
	name    = "active"
	store   = "sqlite"
	id      = "6bd5c1a1-8d1c-4c3a-9d0f-2f6f7a3d6c11" // any, but the same at each start over one database
	version = 1
)

// Namespace is the only namespace of the server.
const Namespace = "default"

// Run serves on 127.0.0.1:port, with its data in the file database, until ctx ends. It creates the file if it is
// missing; otherwise it continues with its data.
func Run(ctx context.Context, port int, database string) error {
	sql, err := openDatabase(database)
	if err != nil {
		return err
	}
	services := []primitives.ServiceName{
		primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	}
	conf := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: store, VisibilityStore: store, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{store: {SQL: sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: name, CurrentClusterName: name,
			ClusterInformation: map[string]cluster.ClusterInformation{name: {
				Enabled: true, InitialFailoverVersion: version, ClusterID: id, RPCAddress: address(port),
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: address(port)},
		Services:            map[string]config.Service{},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = host
	hosts := map[primitives.ServiceName]static.Hosts{}
	for i, s := range services {
		p := port
		if i > 0 {
			if p, err = FreePort(ctx); err != nil {
				return err
			}
		}
		conf.Services[string(s)] = config.Service{RPC: config.RPC{GRPCPort: p, BindOnIP: host}}
		hosts[s] = static.SingleLocalHost(address(p))
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(serverlog.NewZapLogger(serverlog.BuildZapLogger(serverlog.Config{Level: "error"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 512,
		}),
	)
	if err != nil {
		return fmt.Errorf("temporal server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("temporal server on port %d: %w", port, err)
	}
	<-ctx.Done()
	return server.Stop()
}

func openDatabase(file string) (*config.SQL, error) {
	sql := &config.SQL{
		PluginName: sqlite.PluginName, DatabaseName: file,
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal"},
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := schema.SetupSchema(sql); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", file, err)
		}
	}
	ns, err := schema.NewNamespaceConfig(name, Namespace, false, nil)
	if err != nil {
		return nil, err
	}
	if err := schema.CreateNamespaces(sql, ns); err != nil {
		return nil, fmt.Errorf("namespace in %s: %w", file, err)
	}
	return sql, nil
}

// FreePort returns a port of 127.0.0.1 on which nobody listened a moment ago.
func FreePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
