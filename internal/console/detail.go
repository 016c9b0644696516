package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// readTime is how long a page waits for one cluster.
const readTime = 15 * time.Second

// errUnread means that no context of the command line is the cluster.
var errUnread = errors.New("this cluster is not read: no context of the command line is its own")

// target returns the context of a cluster.
func (c *Console) target(id string) (checkup.Target, error) {
	for i, m := range c.set.Members {
		if idOf(m, m.Overview()) != id {
			continue
		}
		if contact := m.Contact(); contact.Err != nil { // else a page would wait for it
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
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	scope.Broker, scope.On = c.locate, on.On
	return survey.Read(ctx, on.Config, scope)
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
		d.add("Service", "v1", &o)
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

// without predicts for all services what happens in one cluster without another.
func (c *Console) without(ctx context.Context, cluster, without string) ([]report.Prediction, error) {
	id, err := names.ParseClusterID(without)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	s, err := c.read(ctx, cluster, survey.Scope{Endpoints: true, Installation: true, Traffic: true})
	if err != nil {
		return nil, err
	}
	return report.WithoutAll(s, id)
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

// maxEvents limits the Events of one cluster.
const maxEvents = 2000

// events returns a cluster's Events from Atoll, the newest first.
func (c *Console) events(ctx context.Context, cluster string) ([]Event, error) {
	on, err := c.target(cluster)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(on.Config)
	config.Timeout = readTime
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	list, err := kube.EventsV1().Events(corev1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: maxEvents})
	if err != nil {
		return nil, fmt.Errorf("listing Events: %w", err)
	}
	all := []Event{}
	for _, e := range list.Items {
		if strings.Contains(e.ReportingController, "atoll") {
			all = append(all, Event{
				Cluster: cluster, At: lastTime(e), About: strings.ToLower(e.Regarding.Kind) + " " + e.Regarding.Namespace + "/" + e.Regarding.Name,
				Type: e.Type, Reason: e.Reason, Message: e.Note,
			})
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return b.At.Compare(a.At.Time) })
	return all, nil
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

// runChecks makes checks, unless a run has not ended.
func (c *Console) runChecks(ctx context.Context) {
	c.view.Lock()
	running := c.checks.Running
	c.checks.Running = true
	c.view.Unlock()
	if running {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	state := Checks{Running: true, Of: len(c.targets), Command: "atoll check"}
	for _, t := range c.targets {
		state.Command += " " + cmp.Or(t.Context, "")
	}
	c.show(state)
	var evidence check.Evidence
	evidence.NoPods = true
	for _, t := range c.targets { // one after the other, to show the progress
		found, _ := checkup.Gather(ctx, []checkup.Target{t}, checkup.Options{Broker: c.locate, NoPods: true, Timeout: checkTime, Say: func(string, ...any) {}})
		evidence.Clusters = append(evidence.Clusters, found.Clusters...)
		state.Read, state.Results = len(evidence.Clusters), check.Evaluate(evidence)
		c.show(state)
	}
	state.Running, state.Ended, state.Error = false, time.Now().UnixMilli(), errorText(ctx.Err())
	c.show(state)
}

// show shows the state of the checks to all pages.
func (c *Console) show(state Checks) {
	c.view.Lock()
	defer c.view.Unlock()
	c.checks, c.overview.Checks = state, state
	c.tell(nil, true)
}
