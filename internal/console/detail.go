package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// surveyTime is how long a page waits for one cluster.
const surveyTime = 15 * time.Second

// errUnread means that no context of the command line is the cluster.
var errUnread = errors.New("this cluster is not read")

// target returns the context of a cluster.
func (c *Console) target(id string) (checkup.Target, error) {
	for i, one := range identify(c.set) {
		if one.id != id {
			continue
		}
		if contact := c.set.Members[i].Contact(); contact.Err != nil { // else a page would wait for it
			return checkup.Target{}, fmt.Errorf("cluster %s does not answer: %w", id, contact.Err)
		}
		return c.targets[i], nil
	}
	return checkup.Target{}, fmt.Errorf("cluster %s: %w", id, errUnread)
}

// read surveys a cluster now.
func (c *Console) read(ctx context.Context, id string, scope survey.Scope) (*survey.Survey, error) {
	on, err := c.target(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	scope.Broker, scope.Direct, scope.On = c.locate, c.direct, on.On
	config := rest.CopyConfig(on.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{ctx, next} })
	return survey.Read(ctx, config, scope)
}

// bound ends requests with a context, too: discovery does not pass one on.
type bound struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(b.ctx, cancel)
	return b.next.RoundTrip(r.WithContext(ctx))
}

// Detail is one service in one cluster.
type Detail struct {
	report.Explanation
	Endpoints []report.Endpoint `json:"endpoints"`
	// Commands are for a terminal.
	Commands []string `json:"commands"`
	// Objects are YAML.
	Objects []Object `json:"objects"`
}

// Object is an object as YAML.
type Object struct {
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

// explain explains a service in a cluster.
func (c *Console) explain(ctx context.Context, cluster string, service types.NamespacedName) (*Detail, error) {
	s, err := c.read(ctx, cluster, survey.Scope{Namespace: service.Namespace, Service: service.Name, Endpoints: true, Installation: true, Traffic: true})
	if err != nil {
		return nil, err
	}
	name := service.String()
	d := &Detail{
		Explanation: report.Explain(s, service), Endpoints: report.Endpoints(s),
		Commands: []string{
			s.On.Atoll("explain %s", name), s.On.Atoll("get endpoints %s -n %s", service.Name, service.Namespace),
			s.On.Kubectl("describe serviceimport %s -n %s", service.Name, service.Namespace),
		},
	}
	for _, e := range s.Cluster.Exports {
		d.add("ServiceExport", "multicluster.x-k8s.io/v1beta1", &e)
	}
	for _, i := range s.Cluster.Imports {
		d.add("ServiceImport", "multicluster.x-k8s.io/v1beta1", &i)
	}
	for _, o := range s.Cluster.Services {
		if o.Name == service.Name || o.Name == d.DerivedService { // a survey also has the derived Services of others
			d.add("Service", "v1", &o)
		}
	}
	for _, o := range s.Cluster.Slices {
		d.add("EndpointSlice", "discovery.k8s.io/v1", &o)
	}
	if s.Broker != nil {
		for _, e := range s.Broker.Exports {
			d.add("ExportedService", "broker.atoll.dev/v1alpha1", &e)
		}
	}
	return d, nil
}

// add adds an object, without what no reader wants.
func (d *Detail) add(kind, version string, o client.Object) {
	o.SetManagedFields(nil)
	text, err := yaml.Marshal(o)
	if err != nil {
		return
	}
	head := fmt.Sprintf("apiVersion: %s\nkind: %s\n", version, kind)
	d.Objects = append(d.Objects, Object{Name: fmt.Sprintf("%s %s/%s", kind, o.GetNamespace(), o.GetName()), YAML: head + string(text)})
}

// status is what `atoll status` says of a cluster.
func (c *Console) status(ctx context.Context, cluster string) (*report.Status, error) {
	s, err := c.read(ctx, cluster, survey.Scope{Installation: true})
	if err != nil {
		return nil, err
	}
	status := report.NewStatus(s)
	return &status, nil
}

// WhatIf is what happens to all services in one cluster without another.
type WhatIf struct {
	Predictions []report.Prediction `json:"predictions"`
	// Unread are why objects could not be read on which the predictions depend.
	Unread []string `json:"unread,omitempty"`
}

// without predicts for all services what happens in one cluster without another.
func (c *Console) without(ctx context.Context, cluster, without string) (*WhatIf, error) {
	id, err := names.ParseClusterID(without)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	s, err := c.read(ctx, cluster, survey.Scope{Endpoints: true, Installation: true, Traffic: true})
	if err != nil {
		return nil, err
	}
	all, err := report.WithoutAll(s, id)
	if err != nil {
		return nil, err
	}
	return &WhatIf{Predictions: all, Unread: errorTexts(s.UnreadTraffic)}, nil
}

// Events are a cluster's Events from Atoll, the newest first. More means that there are others.
type Events struct {
	All  []Event `json:"all"`
	More bool    `json:"more,omitempty"`
}

// Event is an Event of Kubernetes about Atoll's objects.
type Event struct {
	Cluster string      `json:"cluster"`
	At      metav1.Time `json:"at"`
	About   string      `json:"about"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
}

// maxEvents limits the Events of one reporter in one cluster.
const maxEvents = 2000

// events returns a cluster's Events from Atoll.
func (c *Console) events(ctx context.Context, cluster string) (*Events, error) {
	on, err := c.target(cluster)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(on.Config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	found := &Events{All: []Event{}}
	for _, reporter := range []string{"atoll-agent", "atoll-hub"} {
		list, err := kube.EventsV1().Events(corev1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: maxEvents, FieldSelector: "reportingController=" + reporter})
		if err != nil {
			return nil, fmt.Errorf("listing Events: %w", err)
		}
		found.More = found.More || list.Continue != ""
		for _, e := range list.Items {
			found.All = append(found.All, Event{
				Cluster: cluster, At: lastTime(e), About: strings.ToLower(e.Regarding.Kind) + " " + e.Regarding.Namespace + "/" + e.Regarding.Name,
				Type: e.Type, Reason: e.Reason, Message: e.Note,
			})
		}
	}
	slices.SortFunc(found.All, func(a, b Event) int { return b.At.Compare(a.At.Time) })
	return found, nil
}

func lastTime(e eventsv1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case e.EventTime.IsZero():
		return e.DeprecatedLastTimestamp // of a client of the old API
	}
	return metav1.NewTime(e.EventTime.Time)
}

// Checks are the checks that need no pods: a console creates none.
type Checks struct {
	Running bool          `json:"running"`
	Ended   int64         `json:"ended,omitempty"`
	Error   string        `json:"error,omitempty"`
	Results check.Results `json:"results,omitempty"`
	// Read and Of say how many clusters have been read.
	Read int `json:"read"`
	Of   int `json:"of"`
	// Command makes all checks.
	Command string `json:"command"`
}

// checkTime limits a run of checks.
const checkTime = 2 * time.Minute

// startChecks makes the checks, unless they are being made.
func (c *Console) startChecks() {
	select {
	case c.checkNow <- struct{}{}:
	default:
	}
}

// makeChecks makes checks when startChecks asks for them.
func (c *Console) makeChecks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.checkNow:
			c.runChecks(ctx)
		}
	}
}

func (c *Console) runChecks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	state := Checks{Running: true, Of: len(c.targets), Command: checkCommand(c.targets)}
	c.show(state)
	var mu sync.Mutex
	evidence, _ := checkup.Gather(ctx, c.targets, checkup.Options{Broker: c.locate, NoPods: true, Timeout: checkTime, Progress: func(read int) {
		mu.Lock()
		defer mu.Unlock()
		state.Read = max(read, state.Read)
		c.show(state)
	}})
	state.Running, state.Ended, state.Error, state.Results = false, time.Now().UnixMilli(), errorText(ctx.Err()), check.Evaluate(*evidence)
	c.show(state)
}

// checkCommand returns the command for all checks of clusters.
func checkCommand(targets []checkup.Target) string {
	contexts, flags := "", ""
	for _, t := range targets {
		rest, isNamed := strings.CutSuffix(string(t.On), string(command.At("", t.Context)))
		if flags = rest; isNamed && t.Context != "" {
			contexts += " " + command.Quoted(t.Context)
		}
	}
	return "atoll check" + contexts + flags
}

// show shows the state of the checks to all pages.
func (c *Console) show(state Checks) {
	c.view.Lock()
	defer c.view.Unlock()
	c.checks, c.overview.Checks = state, state
	c.tell(nil, true)
}
