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

// answers is how many records a right answer to that sort of question has.
var answers = map[string]int{askA: 1, askSRV: 1, askHeadless: sourceClusters * endpointsEach, askHost: 1, askNone: 0}

// question is one of a sort of questions.
type question struct {
	name string
	kind uint16
}

// questions are all of a sort for services of these numbers, to being none of them, in an order
// that is the same in each run, and in which no service comes back soon.
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
