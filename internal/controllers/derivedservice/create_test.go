package derivedservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/controllers"
)

// cluster is an API server that gives Services their addresses, before it looks at their names,
// and the copy of its Services that the agent has.
type cluster struct {
	client.Client
	copied  []corev1.Service
	there   *corev1.Service // not in the copy yet
	invalid []string        // addresses that are in no range any more
	busy    []string        // addresses that are free in a moment
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.ServiceList).Items = c.copied
	return nil
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.there == nil || c.there.Name != key.Name {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, key.Name)
	}
	c.there.DeepCopyInto(o.(*corev1.Service))
	return nil
}

func (c *cluster) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	service := o.(*corev1.Service)
	all := c.copied
	if c.there != nil {
		all = append(slices.Clone(all), *c.there)
	}
	for _, ip := range service.Spec.ClusterIPs {
		why := ""
		taken := func(s corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, ip) }
		switch {
		case slices.Contains(c.invalid, ip):
			why = "the provided network does not match the current range"
		case slices.Contains(c.busy, ip) || slices.ContainsFunc(all, taken):
			why = "provided IP is already allocated"
		default:
			continue
		}
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, service.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "clusterIPs"), service.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: %s", ip, why)),
		})
	}
	if c.there != nil && c.there.Name == service.Name {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "services"}, service.Name)
	}
	service.UID = "made"
	return nil
}

// A Service is made with those of the import's addresses that it can have. Which it can't is
// told; what is so for a moment only is tried again, and nobody is told.
func TestCreateKeepsTheAddressesThatItCan(t *testing.T) {
	const v4, v6 = "10.96.0.5", "fd00::5"
	service := func(name, owner string, ips ...string) corev1.Service {
		s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{ClusterIPs: ips}}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "ServiceImport", Name: owner}}
		}
		return s
	}
	own, other := service("web-clusterset", "web", v4, v6), service("db", "", v4)
	others := service("other", "", v6)
	for name, tt := range map[string]struct {
		server cluster
		want   string // the addresses it asks for in the end, "-" for a Service that is not made
		lost   string // what an Event tells
		fails  bool
	}{
		"all are free":                     {want: v4 + " " + v6},
		"one has another Service":          {server: cluster{copied: []corev1.Service{other}}, want: v6, lost: v4},
		"the other has":                    {server: cluster{copied: []corev1.Service{others}}, want: v4, lost: v6},
		"both have other Services":         {server: cluster{copied: []corev1.Service{other, others}}, want: "", lost: v4 + " and " + v6},
		"one is in no range any more":      {server: cluster{invalid: []string{v4}}, want: v6, lost: v4},
		"both are in none":                 {server: cluster{invalid: []string{v4, v6}}, want: "", lost: v4 + " and " + v6},
		"free in a moment":                 {server: cluster{busy: []string{v4}}, want: "-", fails: true},
		"the own one is there, not seen":   {server: cluster{there: &own}, want: "-"},
		"the own one is in the copy still": {server: cluster{copied: []corev1.Service{own}}, want: "-", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			imp.Spec.Type, imp.Spec.IPs = mcsv1beta1.ClusterSetIP, []string{v4, v6}
			imp.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			recorder := events.NewFakeRecorder(9)
			c := &Controller{local: &tt.server, writer: controllers.Writer{Client: &tt.server, Reader: &tt.server}, recorder: recorder}
			made, err := c.create(t.Context(), imp, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-clusterset"}})
			if (err != nil) != tt.fails || controllers.Refused(errors.Join(err)) {
				t.Errorf("error %v", err)
			}
			got := "-"
			if made != nil {
				got = strings.Join(made.Spec.ClusterIPs, " ")
			}
			if got != tt.want {
				t.Errorf("made with %q, want %q", got, tt.want)
			}
			said := ""
			if len(recorder.Events) > 0 {
				said = <-recorder.Events
			}
			if (said == "") != (tt.lost == "") || !strings.Contains(said, "clusterset IP "+tt.lost) && tt.lost != "" {
				t.Errorf("it told %q, want that %q is lost", said, tt.lost)
			}
		})
	}
}

// What has nothing to do with the addresses is a refusal, and told as such.
func TestCreateTellsOtherRefusals(t *testing.T) {
	server := &cluster{}
	refuse := &refusing{cluster: server, err: apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web-clusterset", errors.New("exceeded quota"))}
	imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	imp.Spec.Type, imp.Spec.IPs, imp.Spec.IPFamilies = mcsv1beta1.ClusterSetIP, []string{"10.96.0.5"}, []corev1.IPFamily{corev1.IPv4Protocol}
	c := &Controller{local: refuse, writer: controllers.Writer{Client: refuse, Reader: refuse}, recorder: events.NewFakeRecorder(9)}
	if _, err := c.create(t.Context(), imp, &corev1.Service{}); !controllers.Refused(err) {
		t.Errorf("error %v", err)
	}
}

type refusing struct {
	*cluster
	err error
}

func (r *refusing) Create(context.Context, client.Object, ...client.CreateOption) error { return r.err }
