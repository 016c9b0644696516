package dns

import (
	"fmt"
	"math/rand/v2"

	"github.com/miekg/dns"
)

// Sorts of questions.
const (
	askA        = "A"
	askSRV      = "SRV"
	askHeadless = "headless"
	askHost     = "host"
	askNone     = "NXDOMAIN"
)

var allAsks = []string{askA, askSRV, askHeadless, askHost, askNone}

// answers is the number of records in a correct response, by kind of query.
var answers = map[string]int{askA: 1, askSRV: 1, askHeadless: sourceClusters * endpointsEach, askHost: 1, askNone: 0}

// question is a DNS query.
type question struct {
	name string
	kind uint16
}

// questions returns all queries of a kind for the services from..to-1. The order is the same in
// each run, and queries for the same service are far apart.
func questions(ask string, from, to int) []question {
	var all []question
	for i := service(from); i < service(to); i++ {
		if i.headless() != (ask == askHeadless || ask == askHost) {
			continue
		}
		switch ask {
		case askA, askHeadless:
			all = append(all, question{i.domain(), dns.TypeA})
		case askSRV:
			all = append(all, question{"_http._tcp." + i.domain(), dns.TypeSRV})
		case askHost:
			for c := range sourceClusters {
				all = append(all, question{fmt.Sprintf("%s.c%d.%s", host(int(i)%endpointsEach), c, i.domain()), dns.TypeA})
			}
		case askNone:
			all = append(all, question{"none-" + i.domain(), dns.TypeA})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
