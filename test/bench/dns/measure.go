package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/lab"
)

const cluster = "c1"

// prepare makes the client and the kubeconfig, and what has to be there before services are.
func (b *bench) prepare(ctx context.Context, l *lab.Lab) error {
	config, err := l.RESTConfig(cluster)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	for _, crd := range deploy.MemberCRDs() {
		if err := l.Apply(ctx, cluster, crd); err != nil {
			return err
		}
	}
	if b.api, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	loaded, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil {
		return err
	}
	loaded.CurrentContext = cluster
	if err := api.MinifyConfig(loaded); err != nil {
		return err
	}
	if err := clientcmd.WriteToFile(*loaded, b.kubeconfig); err != nil {
		return err
	}
	return b.write(ctx, func(yield func(client.Object) bool) {
		for i := range namespaces {
			if !yield(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ns-%d", i)}}) {
				return
			}
		}
	})
}

// stage is a state of the cluster in which memory is taken.
type stage struct {
	virtual, headless, large int // how many services there are of each sort
	memory                   map[string]memory
}

// measure goes through all sizes, and adds large services to the last one.
func (b *bench) measure(ctx context.Context) (*results, error) {
	r := &results{bench: b}
	if err := b.takeMemory(ctx, r, stage{}); err != nil {
		return nil, err
	}
	for _, size := range b.sizes {
		before := b.services
		now := stage{virtual: before - before/headlessEvery, headless: before / headlessEvery}
		for _, headless := range []bool{false, true} {
			b.say("writing services %d to %d, headless: %v", before, size, headless)
			if err := b.load(ctx, before, size, func(s service) bool { return s.headless() == headless }); err != nil {
				return nil, err
			}
			if !headless {
				now.virtual, b.virtual = size-size/headlessEvery, size
			} else {
				now.headless, b.headless, b.services = size/headlessEvery, size, size
			}
			if err := b.takeMemory(ctx, r, now); err != nil {
				return nil, err
			}
		}
		if err := b.measureSize(ctx, r); err != nil {
			return nil, err
		}
	}
	b.say("writing %d services of %d endpoints each", largeServices, largeEndpoints)
	for n := range largeServices {
		if err := b.write(ctx, slices.Values(large(n))); err != nil {
			return nil, err
		}
	}
	last := r.stages[len(r.stages)-1]
	last.large = largeServices
	return r, b.takeMemory(ctx, r, last)
}

// takeMemory starts the servers that read the cluster, each alone, and asks for their memory.
func (b *bench) takeMemory(ctx context.Context, r *results, now stage) error {
	now.memory = map[string]memory{}
	for _, k := range kinds {
		if !k.cluster {
			continue
		}
		s, err := b.start(ctx, k)
		if err != nil {
			return err
		}
		now.memory[k.name], err = s.memory()
		s.stop()
		if err != nil {
			return err
		}
	}
	r.stages = append(r.stages, now)
	return nil
}

// measureSize measures all servers with the services that there are.
func (b *bench) measureSize(ctx context.Context, r *results) error {
	if err := b.writeHosts(b.services); err != nil {
		return err
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	found := &size{services: b.services, rates: map[string]map[string][]perf{}, updates: map[string]map[string]*times{}}
	r.sizes = append(r.sizes, found)
	for _, k := range kinds {
		began := time.Now()
		s, err := b.start(ctx, k)
		if err != nil {
			return err
		}
		b.say("%s answers %v after its start", k.name, time.Since(began).Round(time.Millisecond))
		servers = append(servers, s)
	}
	for _, ask := range allAsks {
		if err := b.measureRate(ctx, servers, ask, found); err != nil {
			return err
		}
	}
	return b.measureUpdates(ctx, servers, found)
}

// measureRate has all servers asked by turns, round by round, so that whatever else the
// machine does meets all of them. A first round, which warms up, does not count.
func (b *bench) measureRate(ctx context.Context, servers []*server, ask string, found *size) error {
	file, err := b.writeQuestions(ask, b.services)
	if err != nil {
		return err
	}
	rates := map[string][]perf{}
	for round := range b.rounds + 1 {
		for _, s := range servers {
			if !slices.Contains(s.asks, ask) {
				continue
			}
			if err := b.profile(s, ask, round); err != nil {
				return err
			}
			p, err := b.dnsperf(ctx, s, ask, file, b.seconds)
			if err != nil {
				return err
			}
			if had := rates[s.name]; len(had) > 0 && abs(p.size-had[0].size) > 1 {
				return fmt.Errorf("%s answers %s with %d bytes and then with %d", s.name, ask, had[0].size, p.size)
			}
			if round > 0 {
				rates[s.name] = append(rates[s.name], p)
			}
		}
	}
	found.rates[ask] = rates
	b.say("%d services, %s: %s", b.services, ask, sums(rates))
	return b.profile(servers[0], "", 0)
}

func abs(n int) int { return max(n, -n) }

func sums(rates map[string][]perf) string {
	var parts []string
	for _, k := range kinds {
		if runs := rates[k.name]; len(runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f/s", k.name, median(perSecond(runs))))
		}
	}
	return strings.Join(parts, ", ")
}

// profile takes a profile of the second round of a server, and ends all others.
func (b *bench) profile(s *server, ask string, round int) error {
	if b.profiles == "" {
		return nil
	}
	var done string
	if round != 1 {
		return s.ask("end", &done)
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	return s.ask("profile "+filepath.Join(b.profiles, fmt.Sprintf("%s-%s-%d.pprof", s.name, ask, b.services)), &done)
}

// measureUpdates takes the times of changes, first idle and then under full load.
func (b *bench) measureUpdates(ctx context.Context, servers []*server, found *size) error {
	servers = slices.DeleteFunc(slices.Clone(servers), func(s *server) bool { return !s.cluster })
	for _, loaded := range []bool{false, true} {
		for _, c := range changes {
			name := c.name + ", idle"
			if loaded {
				name = c.name + ", under full load"
			}
			into := map[string]*times{}
			for _, s := range servers {
				into[s.name] = &times{}
				if err := b.changeTimes(ctx, s, c, loaded, into[s.name]); err != nil {
					return err
				}
			}
			found.updates[name] = into
		}
	}
	return nil
}

// changeTimes makes as many changes as are asked for, one after the other.
func (b *bench) changeTimes(ctx context.Context, s *server, c change, loaded bool, into *times) error {
	if !loaded {
		return b.makeChanges(ctx, s, c, into)
	}
	file, err := b.writeQuestions(askA, b.services)
	if err != nil {
		return err
	}
	loadCtx, cancel := context.WithCancel(ctx)
	load := b.dnsperfCommand(loadCtx, s, file, patience.Seconds())
	if err := load.Start(); err != nil {
		cancel()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- load.Wait() }()
	defer func() {
		cancel()
		<-ended
	}()
	began, before := time.Now(), time.Duration(0)
	if before, err = s.cpuTime(); err != nil {
		return err
	}
	if err := b.makeChanges(ctx, s, c, into); err != nil {
		return err
	}
	select {
	case err := <-ended:
		ended <- nil
		return fmt.Errorf("dnsperf ended before the changes were made, so that %s was not under load: %w", s.name, err)
	default:
	}
	after, err := s.cpuTime()
	if busy := float64(after-before) / float64(time.Since(began)); err == nil && busy < 0.2 {
		err = fmt.Errorf("%s was busy for %.0f%% of the time only, which is no full load", s.name, 100*busy)
	}
	return err
}

func (b *bench) makeChanges(ctx context.Context, s *server, c change, into *times) error {
	for range b.updates {
		if err := b.update(ctx, s, c, into); err != nil {
			return err
		}
	}
	return nil
}
