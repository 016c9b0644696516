package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/miekg/dns"
)

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
		if i.headless() != ofHeadless(ask) {
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

// writeQuestions writes the file that dnsperf reads.
func (b *bench) writeQuestions(ask string, services int) (path string, err error) {
	path = filepath.Join(b.dir, ask+".queries")
	var text strings.Builder
	for _, q := range questions(ask, 0, services) {
		fmt.Fprintf(&text, "%s. %s\n", q.name, dns.TypeToString[q.kind])
	}
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

// writeHosts writes the same names for the plugin hosts.
func (b *bench) writeHosts(services int) error {
	f, err := os.Create(b.hosts)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := service(0); i < service(services); i++ {
		if !i.headless() {
			fmt.Fprintln(w, i.ip(), i.domain())
			continue
		}
		for c := range sourceClusters {
			for n := range endpointsEach {
				fmt.Fprintf(w, "%s %s %s.c%d.%s\n", i.endpoint(c, n), i.domain(), host(n), c, i.domain())
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// answers is how many records a right answer to that sort of question has.
var answers = map[string]int{askA: 1, askSRV: 1, askHeadless: sourceClusters * endpointsEach, askHost: 1, askNone: 0}

// right says what is wrong with a server's answer. That of whoami is always one.
func (s *server) right(ask string, m *dns.Msg) error {
	code := dns.RcodeSuccess
	if ask == askNone {
		code = dns.RcodeNameError
	}
	if m.Rcode != code || s.name != whoami && len(m.Answer) != answers[ask] {
		return fmt.Errorf("%s answers %s with %d records to a question of the sort %s", s.name, dns.RcodeToString[m.Rcode], len(m.Answer), ask)
	}
	return nil
}

// exchange asks a server one question by UDP.
func (s *server) exchange(ctx context.Context, q question) (*dns.Msg, error) {
	m, _, err := (&dns.Client{Timeout: time.Second}).ExchangeContext(ctx, new(dns.Msg).SetQuestion(q.name+".", q.kind), s.address)
	return m, err
}

// patience is how long a server has to read the cluster, and a change to be answered.
const patience = 5 * time.Minute

// waitFor waits until the server answers questions of all sorts as it should.
func (b *bench) waitFor(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := b.allRight(ctx, s)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil { // which would be all that it says
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", s.name, last)
		case <-s.ended:
			return fmt.Errorf("waiting for %s: it has ended", s.name)
		case <-tick.C:
		}
	}
}

// allRight says what is wrong with a server's answers about what was written last: a server
// that knows that knows all.
func (b *bench) allRight(ctx context.Context, s *server) error {
	if b.virtual == 0 { // nothing is there yet
		m, err := s.exchange(ctx, question{"dns-version.clusterset.local", dns.TypeTXT})
		if err == nil && m.Rcode != dns.RcodeSuccess {
			err = fmt.Errorf("%s answers %s", s.name, dns.RcodeToString[m.Rcode])
		}
		return err
	}
	for _, ask := range s.asks {
		last := b.virtual
		if ofHeadless(ask) {
			last = b.headless
		}
		for _, q := range questions(ask, max(0, last-20*headlessEvery), last) {
			m, err := s.exchange(ctx, q)
			if err == nil {
				err = s.right(ask, m)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ofHeadless tells whether that sort of question is about headless services.
func ofHeadless(ask string) bool { return ask == askHeadless || ask == askHost }
