package failover

import (
	"bufio"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/child"
)

// traffic is a running client.
type traffic struct {
	cluster string
	process *child.Process

	mu   sync.Mutex
	sent []request // in the order of their ends
}

// send starts a client in a cluster.
func (b *bench) send(cluster, address string) (*traffic, error) {
	t := &traffic{cluster: cluster}
	err := b.pods[cluster].Do(func() (err error) {
		t.process, err = child.Start(nil, RoleClient, address)
		return err
	})
	if err != nil {
		return nil, err
	}
	go t.collect()
	return t, nil
}

func (t *traffic) collect() {
	for lines := bufio.NewScanner(t.process.Output); lines.Scan(); {
		stamp, rest, _ := strings.Cut(lines.Text(), " ")
		micros, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			continue
		}
		r := request{at: time.UnixMicro(micros), by: rest}
		if reason, ok := strings.CutPrefix(rest, "- "); ok {
			r.by, r.err = "", reason
		}
		t.mu.Lock()
		t.sent = append(t.sent, r)
		t.mu.Unlock()
	}
}

// since returns the requests that began at a time or later and have ended.
func (t *traffic) since(at time.Time) (requests []request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.sent) - 1; i >= 0 && t.sent[i].at.After(at.Add(-2*requestTimeout)); i-- {
		if !t.sent[i].at.Before(at) {
			requests = append(requests, t.sent[i])
		}
	}
	return requests
}

// allSince is since for a long time.
func (t *traffic) allSince(at time.Time) (requests []request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.sent {
		if !r.at.Before(at) {
			requests = append(requests, r)
		}
	}
	return requests
}

// hold starts a connection of near to the victim. finish ends it, and returns how often it was used or why it broke.
func (b *bench) hold(address string) (finish func() string, err error) {
	var holder *child.Process
	err = b.pods[near].Do(func() (err error) {
		holder, err = child.Start(nil, RoleHolder, address, victim)
		return err
	})
	if err != nil {
		return nil, err
	}
	last := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(holder.Output).ReadString('\n')
		last <- strings.TrimSpace(line)
	}()
	return func() string {
		holder.End()
		line := <-last
		holder.Stop()
		return line
	}, nil
}

// sendAll starts a client of a service in each of the clients' clusters.
func (b *bench) sendAll(ctx context.Context, service string) (all []*traffic, stop func(), err error) {
	stop = func() {
		for _, t := range all {
			t.process.Stop()
		}
	}
	for _, cluster := range clientClusters {
		address, err := b.clustersetIP(ctx, service, cluster)
		if err == nil {
			var t *traffic
			if t, err = b.send(cluster, address); err == nil {
				all = append(all, t)
			}
		}
		if err != nil {
			stop()
			return nil, nil, err
		}
	}
	return all, stop, nil
}

// clustersetIP returns the address of an imported service.
func (b *bench) clustersetIP(ctx context.Context, service, cluster string) (address string, err error) {
	err = await(ctx, service+" in "+cluster, func() (bool, error) {
		var i mcsv1beta1.ServiceImport
		if err := b.on[cluster].Get(ctx, types.NamespacedName{Namespace: namespace, Name: service}, &i); err != nil || len(i.Spec.IPs) == 0 {
			return false, client.IgnoreNotFound(err)
		}
		address = net.JoinHostPort(i.Spec.IPs[0], "80")
		return true, nil
	})
	return address, err
}

// startPod starts the pod whose network a cluster's client uses.
func (b *bench) startPod(ctx context.Context, cluster string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "client"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers:                    []corev1.Container{{Name: "client", Image: "atoll.dev/lab/client", Command: []string{"sleep", "infinity"}}},
		},
	}
	err := await(ctx, "creating the pod in "+cluster, func() (bool, error) { // the default ServiceAccount may not exist yet
		return b.on[cluster].Create(ctx, pod) == nil, nil
	})
	if err != nil {
		return err
	}
	return await(ctx, "the pod in "+cluster, func() (bool, error) {
		if err := b.on[cluster].Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil || pod.Status.Phase != corev1.PodRunning {
			return false, err
		}
		process, err := lab.PodProcess(pod.UID, "/")
		b.pods[cluster] = network.Namespace(filepath.Join(process, "ns", "net"))
		return err == nil, nil
	})
}

// errNothingSent means that a measurement has no requests.
var errNothingSent = errors.New("no requests were sent")

// calm is how long no request may be bad before a measurement ends.
const calm = time.Second

// settle waits until a client has had no bad request for a while, and returns how long after since the last bad window began.
func (t *traffic) settle(ctx context.Context, since time.Time, quiet, limit time.Duration, bad func(request) bool) (time.Duration, error) {
	err := awaitFor(ctx, limit, "until requests of "+t.cluster+" are as they should be", func() (bool, error) {
		requests := t.since(since)
		last, newest := since, since
		for _, r := range requests {
			if bad(r) && r.at.After(last) {
				last = r.at
			}
			if r.at.After(newest) {
				newest = r.at
			}
		}
		return newest.Sub(last) > quiet, nil
	})
	return leftAfter(t.since(since), since, bad), err
}

// settleAll is settle for several clients.
func settleAll(ctx context.Context, all []*traffic, since time.Time, quiet, limit time.Duration, bad func(request) bool) (took []time.Duration, err error) {
	for _, t := range all {
		d, err := t.settle(ctx, since, quiet, limit, bad)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// until waits until a cluster answers each client.
func until(ctx context.Context, all []*traffic, since time.Time, cluster string, limit time.Duration) error {
	for _, t := range all {
		err := awaitFor(ctx, limit, "until "+cluster+" answers "+t.cluster, func() (bool, error) {
			return count(t.since(since), by(cluster)) > 0, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lost counts failed requests since a time. It waits for the answers of all requests, and says what the first failures were.
func (b *bench) lost(ctx context.Context, all []*traffic, since time.Time) (lost, sent int, err error) {
	if err := bed.Pause(ctx, requestTimeout); err != nil {
		return 0, 0, err
	}
	for _, t := range all {
		requests := t.allSince(since)
		sent += len(requests)
		for _, r := range requests {
			if !failed(r) {
				continue
			}
			if lost++; lost <= 5 {
				b.Say("failover: a request of %s failed after %.3f s: %s", t.cluster, r.at.Sub(since).Seconds(), r.err)
			}
		}
	}
	if sent == 0 {
		return 0, 0, errNothingSent
	}
	return lost, sent, nil
}
