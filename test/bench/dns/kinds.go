package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// kind is one configuration of the server. All are one program, with as few plugins as they
// need: nobody logs, caches, or counts.
type kind struct {
	name  string
	about string
	block string // of the Corefile; %[1]s is a kubeconfig, %[2]s a hosts file
	// cluster says that it reads the cluster's objects.
	cluster bool
	// asks are the sorts of questions that it can be asked.
	asks []string
}

// Sorts of questions.
const (
	askA        = "A"
	askSRV      = "SRV"
	askHeadless = "headless"
	askHost     = "host"
	askNone     = "NXDOMAIN"
)

var allAsks = []string{askA, askSRV, askHeadless, askHost, askNone}

// Names of kinds.
const (
	atoll  = "atoll"
	stock  = "stock"
	hosts  = "hosts"
	whoami = "whoami"
)

var kinds = []kind{
	{
		name: atoll, cluster: true, asks: allAsks,
		about: "our plugin clusterset",
		block: "clusterset {\n kubeconfig %[1]s\n}",
	},
	{
		name: stock, cluster: true, asks: allAsks,
		about: "CoreDNS's plugin kubernetes with its option multicluster",
		block: "kubernetes clusterset.local {\n kubeconfig %[1]s\n multicluster clusterset.local\n}",
	},
	{
		name: hosts, asks: []string{askA, askHeadless, askHost}, // what it does not know is SERVFAIL
		about: "CoreDNS's plugin hosts, with the same names in a file",
		block: "hosts %[2]s {\n no_reverse\n}",
	},
	{
		name: whoami, asks: []string{askA},
		about: "CoreDNS's plugin whoami, which looks nothing up and answers with two records: about the server's own ceiling",
		block: "whoami",
	},
}

func (k kind) corefile(b *bench, port int) string {
	return fmt.Sprintf("clusterset.local:%d {\n bind 127.0.0.1\n %s\n}\n", port, fmt.Sprintf(k.block+"%[3]s", b.kubeconfig, b.hosts, ""))
}

// freePort finds a port that nobody listens on now, below those that the kernel gives to
// connections.
func freePort() (int, error) {
	for range 100 {
		port := 12_000 + rand.IntN(8_000)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		udp, err := net.ListenPacket("udp", address)
		tcp.Close()
		if err == nil {
			udp.Close()
			return port, nil
		}
	}
	return 0, errors.New("finding a free port between 12000 and 20000: too many are taken")
}
