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

// get is a "kubectl get" that needs only a request and a template.
//
// Scripts poll with such calls several times a second. A kubectl process costs a tenth of a
// second of processor time per call, more than everything under test.
type get struct {
	resource, namespace, selector, fields, output string
	names                                         []string
	all, ignoreNotFound                           bool
}

// errNotSimple is returned for calls that need the real kubectl.
var errNotSimple = errors.New("that takes kubectl")

// parseGet parses the arguments of kubectl get.
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

// getter sends requests to a cluster.
type getter struct {
	http   *http.Client
	client client.Client
}

// getTime limits a request. An API server that was cut off or killed sends no response, and the
// remaining time of the script is needed for kubectl, which opens a new connection.
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

// do answers as kubectl would. It returns other errors than API server errors to the caller,
// which then runs kubectl for kubectl's own message.
func (c *getter) do(ctx context.Context, g *get) (Result, error) {
	// The resource may be a name, kind or short name, with or without a group.
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

// away closes idle connections, so that the next request does not use a dead connection.
func (c *getter) away() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// request returns the object, or the list of all objects.
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

// print formats an object in the requested output format.
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

// getter returns the getter of a cluster.
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
