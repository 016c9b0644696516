// Package checkup collects the facts for package check from API servers and from pods.
package checkup

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// answerTime is the timeout of one API request.
const answerTime = 10 * time.Second

// Target is a cluster to check.
type Target struct {
	// Context is the kubeconfig context for messages; empty for the current one.
	Context string
	// On names the cluster in commands.
	On     command.Cluster
	Config *rest.Config
}

// String names the cluster in messages.
func (t Target) String() string {
	if t.Context == "" {
		return "the current context"
	}
	return "context " + t.Context
}

// Options configure Gather.
type Options struct {
	// Before means that the clusters have not joined yet. JoinFile is their join file, if known.
	Before   bool
	JoinFile *credential.Membership
	// Broker locates the broker for this program.
	Broker credential.Locate
	// NoPods skips checks that need pods.
	NoPods bool
	// Image is the pods' image; empty for the agents' image or the released one.
	Image string
	// Timeout limits the whole run.
	Timeout time.Duration
	// Say prints progress.
	Say func(format string, args ...any)
	// Progress, if not nil, gets the number of clusters whose API servers have answered all, or failed.
	Progress func(int)
	// Read, if not nil, gets the API servers' results before pods start.
	Read func(check.Evidence)
}

// Gather checks clusters; the evidence has the errors. When it returns, its namespaces and pods are deleted or about
// to be. problems lists those that are not.
func Gather(ctx context.Context, targets []Target, o Options) (evidence *check.Evidence, problems []error) {
	e := &check.Evidence{Before: o.Before, Image: o.Image, NoPods: o.NoPods, Clusters: make([]check.Cluster, len(targets))}
	var done atomic.Int32
	each(len(targets), func(i int) {
		config := rest.CopyConfig(targets[i].Config)
		config.Timeout = answerTime
		e.Clusters[i].Context, e.Clusters[i].On = targets[i].Context, targets[i].On
		e.Clusters[i].Unreached = read(ctx, &e.Clusters[i], config, o)
		if n := int(done.Add(1)); o.Progress != nil {
			o.Progress(n)
		}
	})
	call(e)
	if o.Read != nil {
		o.Read(*e)
	}
	if o.NoPods {
		return e, nil
	}
	o.Say("starting a test pod in each cluster")
	return e, probePods(ctx, e, targets, o)
}

// each calls f for all numbers concurrently.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// call names the clusters by their IDs where these are unique.
func call(e *check.Evidence) {
	count := map[string]int{}
	for i := range e.Clusters {
		count[e.Clusters[i].ID()]++
	}
	for i := range e.Clusters {
		c := &e.Clusters[i]
		switch name := c.ID(); {
		case name != "" && count[name] == 1:
			c.Name = name
		case c.Context != "":
			c.Name = c.Context
		default:
			c.Name = "this cluster"
		}
	}
}

// read queries a cluster's API server. An error says why that is not possible.
func read(ctx context.Context, c *check.Cluster, config *rest.Config, o Options) error {
	clock := &survey.Clock{}
	config.Wrap(clock.Wrap)
	target, err := install.NewTarget(config, nil)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var lacks []install.Part
	if c.Version, lacks, err = target.Version(); err != nil {
		return err
	}
	for _, part := range lacks {
		c.Lacks = append(c.Lacks, part.String())
	}
	if c.Survey, err = survey.Read(ctx, config, survey.Scope{Installation: true, Rights: true, Broker: o.Broker, On: c.On}); err != nil {
		return err
	}
	switch {
	case c.Survey.Server != "":
		c.Broker = c.Survey.Server
	case o.JoinFile != nil:
		c.Broker = o.JoinFile.Server
	}
	if n, err := target.Namespace(ctx, metav1.NamespaceSystem); err == nil && n != nil {
		c.UID = string(n.UID)
	}
	reader := &reader{ctx, c, target, kube}
	reader.definitions()
	reader.rights()
	reader.nodes()
	reader.addresses()
	reader.running()
	reader.services()
	reader.stock()
	reader.clustersets()
	c.Ahead, c.RoundTrip = clock.Ahead()
	return nil
}

// reader queries one cluster.
type reader struct {
	ctx     context.Context
	cluster *check.Cluster
	target  *install.Target
	kube    kubernetes.Interface
}

// definitions checks Atoll's CustomResourceDefinitions.
func (r *reader) definitions() {
	if r.cluster.Survey.Server != "" {
		missing, err := r.target.Lacks(install.Kinds)
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("the API server does not serve %v", missing)
		}
		r.cluster.Definitions = err
		return
	}
	r.cluster.Definitions = setup.CheckDefinitions(r.ctx, r.target)
}

// clustersets checks the limits of members on the broker, if this cluster is the broker of clustersets.
func (r *reader) clustersets() {
	for _, n := range r.cluster.Survey.Cluster.Namespaces {
		if n.Labels[names.LabelClusterset] == "" {
			continue
		}
		problems, err := setup.LimitProblems(r.ctx, r.target, n.Name)
		r.cluster.Clustersets = append(r.cluster.Clustersets, check.BrokerSide{Name: n.Name, Problems: problems, Err: err})
	}
}

func (r *reader) nodes() {
	list, err := r.kube.CoreV1().Nodes().List(r.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	r.cluster.Nodes = len(list.Items)
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !n.Spec.Unschedulable {
				r.cluster.ReadyNodes++
			}
		}
		r.cluster.Pods = append(r.cluster.Pods, n.Spec.PodCIDRs...)
	}
}
