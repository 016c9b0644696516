package coredns

import (
	"errors"
	"flag"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	"github.com/atoll-mcs/atoll/deploy"
)

// Corefile is the configuration that Run falls back on.
var Corefile = deploy.Corefile

// Run is the program: CoreDNS, with its flags. Without -conf it serves Corefile,
// not a file of the current directory as CoreDNS does. It does not return before
// the program ends.
func Run() {
	caddy.SetDefaultCaddyfileLoader("embedded", caddy.LoaderFunc(func(string) (caddy.Input, error) {
		return input(Corefile), nil
	}))
	flag.Lookup("conf").Usage = "Corefile to load (default an embedded one, for the zone clusterset.local)"
	coremain.Run()
}

// Start starts a server with that configuration in this process, without
// CoreDNS's greeting. The caller ends it with Stop.
func Start(corefile string) (*caddy.Instance, error) {
	caddy.Quiet, dnsserver.Quiet = true, true
	return caddy.Start(input(corefile))
}

// Stop ends a server that Start returned, and what its plugins started.
func Stop(server *caddy.Instance) error {
	errs := server.ShutdownCallbacks()
	if err := server.Stop(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func input(corefile string) caddy.Input {
	return caddy.CaddyfileInput{
		Filepath:       "Corefile",
		Contents:       []byte(corefile),
		ServerTypeName: "dns",
	}
}
