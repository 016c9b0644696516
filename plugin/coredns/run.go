package coredns

import (
	"errors"
	"flag"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/kit/memory"
)

// Corefile is the default configuration of Run.
var Corefile = deploy.Corefile

// Run runs CoreDNS with its flags. Without -conf it serves Corefile, not ./Corefile as CoreDNS does. It returns only
// when the program ends.
func Run() {
	memory.Limit()
	caddy.SetDefaultCaddyfileLoader("embedded", caddy.LoaderFunc(func(string) (caddy.Input, error) {
		return input(Corefile), nil
	}))
	flag.Lookup("conf").Usage = "Corefile to load (the default is an embedded Corefile for the zone clusterset.local)"
	coremain.Run()
}

// Start starts a server in this process, without CoreDNS's banner. The caller ends it with Stop.
func Start(corefile string) (*caddy.Instance, error) {
	caddy.Quiet, dnsserver.Quiet = true, true
	return caddy.Start(input(corefile))
}

// Stop ends a server from Start and its plugins.
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
