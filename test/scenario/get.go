package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// get is a "kubectl get" whose answer needs no more of kubectl than a request and a template.
//
// Scripts ask such things again and again until the answer is right, several times a second, and a process
// of kubectl needs a tenth of a second of processor time for each: more than all that is tested.
type get struct {
	resource, namespace, selector, fields, output string
	names                                         []string
	all, ignoreNotFound                           bool
}

// errNotSimple is for what only kubectl itself does.
var errNotSimple = errors.New("that takes kubectl")

// parseGet understands the arguments of such a call.
func parseGet(args []string) (*get, error) {
	g := &get{}
	flags := pflag.NewFlagSet("get", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVarP(&g.namespace, "namespace", "n", metav1.NamespaceDefault, "")
	flags.StringVarP(&g.selector, "selector", "l", "", "")
	flags.StringVar(&g.fields, "field-selector", "", "")
	flags.StringVarP(&g.output, "output", "o", "", "")
	flags.BoolVarP(&g.all, "all-namespaces", "A", false, "")
	flags.BoolVar(&g.ignoreNotFound, "ignore-not-found", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 2 || flags.Arg(0) != "get" {
		return nil, errNotSimple
	}
	g.resource, g.names = flags.Arg(1), flags.Args()[2:]
	if resource, name, ok := strings.Cut(g.resource, "/"); ok && len(g.names) == 0 {
		g.resource, g.names = resource, []string{name}
	}
	simple := len(g.names) < 2 && !strings.ContainsAny(g.resource, ",/") &&
		(len(g.names) == 0 || g.selector == "" && g.fields == "" && !g.all) &&
		(g.output == "name" || g.output == "json" || strings.HasPrefix(g.output, "jsonpath="))
	if !simple {
		return nil, errNotSimple
	}
	return g, nil
}

// getter answers for one cluster.
type getter struct {
	http   *http.Client
	client client.Client
}

// getTime is how long an answer is waited for. An API server that was cut off or has stopped does not say so, and the
// script's patience is needed for kubectl, whose connection is a new one.
const getTime = 4 * time.Second

func newGetter(config *rest.Config) (*getter, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Timeout = getTime
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(found)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	c, err := client.New(config, client.Options{HTTPClient: transport, Mapper: mapper})
	return &getter{transport, c}, err
}

// do answers as kubectl would. What went wrong otherwise than by the API server's word is not
// answered: kubectl has words of its own for that.
func (c *getter) do(ctx context.Context, g *get) (Result, error) {
	// By its name, kind, or short name, with its group or without.
	kind, err := c.client.RESTMapper().KindFor(schema.ParseGroupResource(g.resource).WithVersion(""))
	if err != nil {
		if !meta.IsNoMatchError(err) {
			c.away()
		}
		return Result{}, errNotSimple
	}
	object, err := c.request(ctx, g, kind)
	var status apierrors.APIStatus
	switch {
	case err == nil:
	case apierrors.IsNotFound(err) && g.ignoreNotFound:
		return Result{}, nil
	case errors.As(err, &status) && status.Status().Reason != metav1.StatusReasonUnknown:
		return Result{Stderr: fmt.Sprintf("Error from server (%s): %v\n", status.Status().Reason, err), Err: errors.New("exit status 1")}, nil
	default:
		c.away()
		return Result{}, errNotSimple
	}
	text, err := g.print(object)
	return Result{Stdout: text}, err
}

// away closes connections: the next request does not wait on one that leads nowhere any more.
func (c *getter) away() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// request returns the content of the object, or of the list of all.
func (c *getter) request(ctx context.Context, g *get, kind schema.GroupVersionKind) (map[string]any, error) {
	if len(g.names) == 1 {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		err := c.client.Get(ctx, client.ObjectKey{Namespace: g.namespace, Name: g.names[0]}, object)
		return object.Object, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	options := &client.ListOptions{Namespace: g.namespace, Raw: &metav1.ListOptions{LabelSelector: g.selector, FieldSelector: g.fields}}
	if g.all {
		options.Namespace = metav1.NamespaceAll
	}
	err := c.client.List(ctx, list, options)
	return list.UnstructuredContent(), err
}

// print writes an object as it is asked for.
func (g *get) print(object map[string]any) (string, error) {
	switch g.output {
	case "json":
		text, err := json.MarshalIndent(object, "", "    ")
		return string(text) + "\n", err
	case "name":
		return namesOf(object), nil
	}
	template := jsonpath.New("script").AllowMissingKeys(true)
	if err := template.Parse(strings.TrimPrefix(g.output, "jsonpath=")); err != nil {
		return "", errNotSimple
	}
	var text bytes.Buffer
	if err := template.Execute(&text, object); err != nil {
		return "", errNotSimple
	}
	return text.String(), nil
}

func namesOf(object map[string]any) string {
	if items, ok := object["items"].([]any); ok {
		var all strings.Builder
		for _, item := range items {
			all.WriteString(namesOf(item.(map[string]any)))
		}
		return all.String()
	}
	o := unstructured.Unstructured{Object: object}
	return strings.ToLower(strings.TrimSuffix(o.GroupVersionKind().GroupKind().String(), ".")) + "/" + o.GetName() + "\n"
}

// getter returns that of a cluster.
func (r realLab) getter(cluster string) (*getter, error) {
	if known, ok := r.getters.Load(cluster); ok {
		return known.(*getter), nil
	}
	config, err := r.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	g, err := newGetter(config)
	if err == nil {
		r.getters.Store(cluster, g)
	}
	return g, err
}
