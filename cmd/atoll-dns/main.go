// Command atoll-dns answers for the services of a clusterset. It is CoreDNS with the
// plugin clusterset, whose README says what it serves and how to set it up.
package main

import "github.com/atoll-mcs/atoll/plugin/coredns"

func main() { coredns.Run() }
