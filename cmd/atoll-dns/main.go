// Command atoll-dns is the DNS server of a member cluster for names below clusterset.local. It is CoreDNS with the
// plugin clusterset, whose README is the manual.
package main

import "github.com/atoll-mcs/atoll/plugin/coredns"

func main() { coredns.Run() }
