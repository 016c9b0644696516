package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// encoding is the response format of a request.
type encoding struct {
	info runtime.SerializerInfo
	// metadata clients get only the metadata of objects.
	metadata bool
}

var protobufInfo, jsonInfo = serializerFor(runtime.ContentTypeProtobuf), serializerFor(runtime.ContentTypeJSON)

func serializerFor(mediaType string) runtime.SerializerInfo {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		panic("no serializer for " + mediaType)
	}
	return info
}

// negotiate chooses protobuf if the client accepts it and the kind supports it.
func negotiate(r *http.Request, k *kind) encoding {
	accept := r.Header.Get("Accept")
	e := encoding{info: jsonInfo, metadata: strings.Contains(accept, "as=PartialObjectMetadata")}
	if strings.Contains(accept, runtime.ContentTypeProtobuf) && (k.native || e.metadata) {
		e.info = protobufInfo
	}
	return e
}

// form converts an object for the client.
func (e encoding) form(o Object) runtime.Object {
	if !e.metadata {
		return o
	}
	partial := &metav1.PartialObjectMetadata{ObjectMeta: *metadataOf(o)}
	partial.SetGroupVersionKind(partialKind)
	return partial
}

var (
	partialKind     = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	partialListKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
)

func metadataOf(o Object) *metav1.ObjectMeta {
	return o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

func (e encoding) write(w http.ResponseWriter, code int, o Object) error {
	return e.send(w, code, e.form(o))
}

func (e encoding) send(w http.ResponseWriter, code int, o runtime.Object) error {
	var encoded bytes.Buffer
	if err := e.info.Serializer.Encode(o, &encoded); err != nil {
		return fmt.Errorf("encoding %T: %w", o, err)
	}
	w.Header().Set("Content-Type", e.info.MediaType)
	w.WriteHeader(code)
	_, _ = w.Write(encoded.Bytes()) // fails only when the client is gone
	return nil
}

func (e encoding) writeList(w http.ResponseWriter, k *kind, objects []Object, at uint64) error {
	listKind := k.list
	var list runtime.Object = &metav1.PartialObjectMetadataList{}
	if e.metadata {
		listKind = partialListKind
	} else {
		var err error
		if list, err = scheme.New(k.list); err != nil {
			return fmt.Errorf("making a list: %w", err)
		}
	}
	items := make([]runtime.Object, len(objects))
	for i, o := range objects {
		items[i] = e.form(o)
	}
	if err := meta.SetList(list, items); err != nil {
		return fmt.Errorf("filling %T: %w", list, err)
	}
	list.GetObjectKind().SetGroupVersionKind(listKind)
	list.(metav1.ListInterface).SetResourceVersion(strconv.FormatUint(at, 10))
	return e.send(w, http.StatusOK, list)
}

// writeEvent encodes a watch event.
func (e encoding) writeEvent(frame func([]byte) error, kind watch.EventType, o Object) error {
	var object, event bytes.Buffer
	if err := e.info.Serializer.Encode(e.form(o), &object); err != nil {
		return fmt.Errorf("encoding %T: %w", o, err)
	}
	err := e.info.StreamSerializer.Serializer.Encode(
		&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object.Bytes()}}, &event)
	if err != nil {
		return fmt.Errorf("encoding a watch event: %w", err)
	}
	return frame(event.Bytes())
}

// decode decodes a request body.
func decode(k *kind, body []byte) (Object, error) {
	object, gvk, err := codecs.UniversalDeserializer().Decode(body, &k.GroupVersionKind, k.new())
	if err != nil {
		return nil, badRequest("decoding: %v", err)
	}
	typed, ok := object.(Object)
	if !ok || *gvk != k.GroupVersionKind {
		return nil, badRequest("the object is a %s, not a %s", gvk, k.GroupVersionKind)
	}
	typed.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return typed, nil
}

// fail responds with an error as a Status.
func fail(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).Status()
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	_ = encoding{info: jsonInfo}.send(w, int(status.Code), &status) // a Status can be encoded
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.plural}
}
