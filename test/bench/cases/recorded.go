package cases

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/objects"
)

// firstKind is a kind that an agent reads, with the format in which API servers send it.
type firstKind struct {
	kind   schema.GroupVersionKind
	plural string
	format string // custom resources are JSON only
	object client.Object
}

// firstKinds are all kinds of a connection's cache. Only the first two have objects.
var firstKinds = []firstKind{
	{discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), "endpointslices", runtime.ContentTypeProtobuf, &discoveryv1.EndpointSlice{}},
	{brokerv1alpha1.GroupVersion.WithKind("ExportedService"), "exportedservices", runtime.ContentTypeJSON, &brokerv1alpha1.ExportedService{}},
	{brokerv1alpha1.GroupVersion.WithKind("MemberCluster"), "memberclusters", runtime.ContentTypeJSON, &brokerv1alpha1.MemberCluster{}},
	{brokerv1alpha1.GroupVersion.WithKind("ServicePolicy"), "servicepolicies", runtime.ContentTypeJSON, &brokerv1alpha1.ServicePolicy{}},
	{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", runtime.ContentTypeProtobuf, &corev1.ConfigMap{}},
}

// firstNamespace returns the namespace of the exports of a cluster.
func firstNamespace(cluster int) string { return fmt.Sprintf("of-%d", cluster) }

// writeFirst writes the events of the first objects to files, one for each kind, as an API server
// sends them to a new watch. So they are encoded before anything is measured, and not in its heap.
func writeFirst(dir string, exports int) (failed error) {
	for i, of := range []func(export int) []client.Object{firstSlices, firstRecord, none, none, none} {
		failed = errors.Join(failed, firstKinds[i].write(dir, exports, of))
	}
	return failed
}

func none(int) []client.Object { return nil }

// firstExport returns the cluster, namespace and name of an export.
func firstExport(number int) (cluster, namespace, name string) {
	return fmt.Sprintf("c-%d", number%fleetSize), firstNamespace(number % fleetSize), fmt.Sprintf("web-%d", number)
}

func firstRecord(export int) []client.Object {
	cluster, namespace, name := firstExport(export)
	return []client.Object{objects.Record(cluster, namespace, name, objects.Port(80))}
}

func firstSlices(export int) (all []client.Object) {
	cluster, namespace, name := firstExport(export)
	for i := range slicesPerExport - 1 {
		address := bed.Address(export*slicesPerExport + i)
		all = append(all, objects.Published(cluster, namespace, fmt.Sprintf("%s-%d", name, i), name, address))
	}
	return all
}

// write writes the events of all exports' objects, and the mark of their end.
func (k firstKind) write(dir string, exports int, of func(export int) []client.Object) error {
	file, err := os.Create(filepath.Join(dir, k.plural))
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	info, ok := runtime.SerializerInfoForMediaType(serializer.NewCodecFactory(broker.Scheme()).SupportedMediaTypes(), k.format)
	if !ok {
		return fmt.Errorf("there is no serializer of %s", k.format)
	}
	frames := info.StreamSerializer.NewFrameWriter(buffered)
	number := 0
	send := func(event watch.EventType, o client.Object) error {
		number++
		o.GetObjectKind().SetGroupVersionKind(k.kind)
		o.SetResourceVersion(strconv.Itoa(number))
		var object, whole bytes.Buffer
		if err := info.Serializer.Encode(o, &object); err != nil {
			return fmt.Errorf("encoding %T: %w", o, err)
		}
		err := info.StreamSerializer.Serializer.Encode(&metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object.Bytes()}}, &whole)
		if err == nil {
			_, err = frames.Write(whole.Bytes())
		}
		return err
	}
	for export := range exports {
		for _, o := range of(export) {
			o.SetUID(types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", number)))
			o.SetCreationTimestamp(metav1.Now())
			if err := send(watch.Added, o); err != nil {
				return err
			}
		}
	}
	end := k.object.DeepCopyObject().(client.Object)
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	if err := send(watch.Bookmark, end); err != nil {
		return err
	}
	return buffered.Flush()
}

// recorded is an API server whose watches begin with the events in a folder, and then are silent.
type recorded string

// RoundTrip implements http.RoundTripper.
func (dir recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	i := slices.IndexFunc(firstKinds, func(k firstKind) bool { return k.plural == path.Base(r.URL.Path) })
	if i < 0 || r.URL.Query().Get("sendInitialEvents") == "" {
		return nil, fmt.Errorf("the recorded API server answers only watches with initial events, not %s", r.URL)
	}
	file, err := os.Open(filepath.Join(string(dir), firstKinds[i].plural))
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: http.StatusText(http.StatusOK), Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {firstKinds[i].format}}, Body: &events{bufio.NewReader(file), file, r.Context()},
	}, nil
}

// events is the body of a watch.
type events struct {
	*bufio.Reader
	io.Closer
	ctx context.Context
}

// Read waits for the end of the request after the last event.
func (e *events) Read(into []byte) (int, error) {
	n, err := e.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		<-e.ctx.Done()
	}
	return n, err
}
