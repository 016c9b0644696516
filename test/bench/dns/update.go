package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// change is a sort of change whose way to the answers is measured.
type change struct {
	name string
	// object is what changes, in a list of that sort.
	object client.Object
	list   client.ObjectList
	// set makes the nth change to the object and returns the question that has another
	// answer from then on, and that answer.
	set func(o client.Object, n int) (question, string)
}

var changes = []change{
	{
		name:   "the IP of a service",
		object: service(0).imported(), list: &mcsv1beta1.ServiceImportList{},
		set: func(o client.Object, n int) (question, string) {
			ip := address(30, n).String()
			o.(*mcsv1beta1.ServiceImport).Spec.IPs = []string{ip}
			return question{service(0).domain(), dns.TypeA}, ip
		},
	},
	{
		name:   "an endpoint of a headless service",
		object: service(headlessEvery - 1).slices()[0], list: &discoveryv1.EndpointSliceList{},
		set: func(o client.Object, n int) (question, string) {
			ip := address(31, n).String()
			o.(*discoveryv1.EndpointSlice).Endpoints[0].Addresses = []string{ip}
			return question{host(0) + ".c0." + service(headlessEvery-1).domain(), dns.TypeA}, ip
		},
	},
}

// times are how long changes took, in the order of the rounds, from when the write began.
type times struct {
	seen     []time.Duration // by a bare watch
	answered []time.Duration
}

// update makes a change and takes the times until a watch has seen it, and until the server
// answers with it.
func (b *bench) update(ctx context.Context, s *server, c change, into *times) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o := c.object.DeepCopyObject().(client.Object)
	if err := b.api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	seen, err := b.api.Watch(ctx, c.list.DeepCopyObject().(client.ObjectList), &client.ListOptions{
		Namespace: o.GetNamespace(), FieldSelector: fields.OneTermEqualSelector("metadata.name", o.GetName()),
	})
	if err != nil {
		return err
	}
	defer seen.Stop()
	b.changed++
	q, want := c.set(o, b.changed)

	began := time.Now()
	answered := make(chan error, 1)
	var took time.Duration
	go func() { // asks from before the change on, so that none is missed
		answered <- s.until(ctx, q, want)
		took = time.Since(began)
		close(answered)
	}()
	if err := b.api.Update(ctx, o); err != nil {
		return err
	}
	saw := false
	for event := range seen.ResultChan() {
		if event.Type == watch.Modified && event.Object.(client.Object).GetResourceVersion() == o.GetResourceVersion() {
			into.seen, saw = append(into.seen, time.Since(began)), true
			break
		}
	}
	if !saw {
		return errors.New("the watch has ended without the change")
	}
	if err := <-answered; err != nil {
		return err
	}
	<-answered
	into.answered = append(into.answered, took)
	return nil
}

// pollInterval is how often a server is asked whether it knows of a change: seldom enough
// not to be a load, often enough to tell.
const pollInterval = 500 * time.Microsecond

// until asks until the answer is the one record with that address.
func (s *server) until(ctx context.Context, q question, want string) error {
	conn, err := dns.DialTimeout("udp", s.address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	asks := dns.Client{Timeout: time.Second}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		m, _, err := asks.ExchangeWithConnContext(ctx, new(dns.Msg).SetQuestion(q.name+".", q.kind), conn)
		if err == nil && len(m.Answer) == 1 {
			if a, ok := m.Answer[0].(*dns.A); ok && a.A.String() == want {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not answer %s with %s", s.name, q.name, want), err)
		case <-tick.C:
		}
	}
}
