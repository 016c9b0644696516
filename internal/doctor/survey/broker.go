package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// ErrNotJoined means that the cluster is not a member of a clusterset.
var ErrNotJoined = errors.New("this cluster is not a member of a clusterset")

// ReadDrain reads what shows how far clusters follow a drain of this one: its own records on the broker, and the heartbeats.
func ReadDrain(ctx context.Context, cluster *install.Target, scope Scope) (*Survey, error) {
	s := &Survey{On: scope.On}
	scope.own = true
	var err error
	s.Broker, err = s.readBroker(ctx, cluster, scope)
	return s, err
}

// readBroker reads the broker with the cluster's member credentials.
func (s *Survey) readBroker(ctx context.Context, cluster *install.Target, scope Scope) (*Broker, error) {
	config, err := s.access(ctx, cluster, scope)
	if err != nil {
		return nil, err
	}
	config.Timeout = answerTime
	clock := &Clock{}
	config.Wrap(clock.Wrap)
	on, err := install.NewTarget(config, nil)
	if err != nil {
		return nil, err
	}
	found, err := readClusterset(ctx, on, s.ClusterID, s.Clusterset, scope)
	if err != nil {
		return nil, fmt.Errorf("reading the broker at %s: %w", config.Host, err)
	}
	found.At, found.RoundTrip = clock.Last()
	if scope.Rights {
		found.Rights, err = rights(ctx, config, s.Clusterset)
	}
	return found, err
}

// BrokerAccess returns how to reach a member's broker with the member's credentials, and the clusterset's name there.
func BrokerAccess(ctx context.Context, config *rest.Config, on command.Cluster, locate credential.Locate) (*rest.Config, string, error) {
	mapper := meta.NewDefaultRESTMapper(nil) // asking the API server for it would not end with ctx
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	cluster, err := client.New(config, client.Options{Scheme: install.Scheme(), Mapper: mapper})
	if err != nil {
		return nil, "", fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	s := &Survey{On: on}
	access, err := s.access(ctx, cluster, Scope{Broker: locate})
	return access, s.Clusterset, err
}

// access returns how to reach the broker: directly, or by the member's credentials.
func (s *Survey) access(ctx context.Context, cluster client.Reader, scope Scope) (*rest.Config, error) {
	if scope.Direct != nil {
		if s.Server = scope.Direct.Host; s.Clusterset == "" {
			return nil, ErrNotJoined
		}
		return rest.CopyConfig(scope.Direct), nil
	}
	secret := &corev1.Secret{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: credential.SecretName}, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, ErrNotJoined
		}
		return nil, fmt.Errorf("reading the credentials for the broker: %w", err)
	}
	m, err := credential.FromSecret(secret)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's membership: %w", err)
	}
	s.ClusterID, s.Clusterset, s.Server, s.CA = m.ClusterID, m.Clusterset, m.Server, m.CA
	if claims, err := credential.ParseToken(m.Token); err == nil {
		s.Expires, s.Lifetime = claims.Expires, claims.Expires.Sub(claims.Issued)
		if claims.IsJoiner(m.ClusterID, m.Clusterset) {
			return nil, fmt.Errorf("the agent has not used this cluster's join file yet, or cannot use it. Look at the agent's log: %s", render.ShowAgentLog(s.On))
		}
	}
	config := broker.NewToken(m.Token, nil).Config(m)
	config.Host = scope.Broker.URL(m)
	return config, nil
}

func readClusterset(ctx context.Context, on *install.Target, member names.ClusterID, namespace string, scope Scope) (*Broker, error) {
	in := client.InNamespace(namespace)
	of := client.MatchingLabels{}
	if scope.own {
		of[names.LabelSourceCluster] = member.String()
		scope.Namespace, scope.Service = "", ""
	}
	if scope.Namespace != "" {
		of[names.LabelServiceNamespace] = scope.Namespace
	}
	if scope.Service != "" {
		of[names.LabelServiceName] = scope.Service
	}
	var members brokerv1alpha1.MemberClusterList
	var heartbeats coordinationv1.LeaseList
	var exports brokerv1alpha1.ExportedServiceList
	var policies brokerv1alpha1.ServicePolicyList
	var published discoveryv1.EndpointSliceList
	list := func(what string, list client.ObjectList, opts ...client.ListOption) error {
		if err := on.List(ctx, list, append(opts, in)...); err != nil {
			return fmt.Errorf("listing %s: %w", what, err)
		}
		return nil
	}
	if err := list("members", &members); err != nil {
		return nil, err // the other lists would fail for the same reason
	}
	err := errors.Join(
		list("exports", &exports, of),
		list("policies", &policies),
	)
	exports.Items = slices.DeleteFunc(exports.Items, func(e brokerv1alpha1.ExportedService) bool { return layout.Withdrawn(&e) })
	var permitted permissions.Members
	config := &corev1.ConfigMap{}
	// Without this ConfigMap, no member is restricted.
	if on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.MemberPermissions}, config) == nil {
		permitted, _ = permissions.Read(config)
	}
	if scope.Endpoints {
		err = errors.Join(err, list("endpoints", &published, of, client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}))
	}
	// Heartbeats come last, so that the broker's time below fits them.
	err = errors.Join(err, list("heartbeats", &heartbeats, client.HasLabels{names.LabelSourceCluster}))
	members.Items = slices.DeleteFunc(members.Items, func(m brokerv1alpha1.MemberCluster) bool { return m.Removed() })
	policies.Items = slices.DeleteFunc(policies.Items, func(p brokerv1alpha1.ServicePolicy) bool { return layout.Withdrawn(&p) })
	return &Broker{Members: members.Items, Heartbeats: heartbeats.Items, Exports: exports.Items, Policies: policies.Items, Slices: published.Items, Permissions: permitted}, err
}

// rights returns the member's permissions in the clusterset's namespace.
func rights(ctx context.Context, config *rest.Config, namespace string) ([]authorizationv1.ResourceRule, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the broker: %w", err)
	}
	review, err := kube.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("checking the member's permissions on the broker: %w", err)
	}
	return review.Status.ResourceRules, nil
}

// SilenceLimit returns how late a member's heartbeat may be: the Lease's duration, or usual.
func (b *Broker) SilenceLimit(member string, usual time.Duration) time.Duration {
	for _, lease := range b.Heartbeats {
		if seconds := lease.Spec.LeaseDurationSeconds; lease.Name == member && seconds != nil {
			return time.Duration(*seconds) * time.Second
		}
	}
	return usual
}

// Silence returns the age of a member's heartbeat, or false without one. It compares the broker's own write times,
// because members' clocks may differ.
func (b *Broker) Silence(member string) (time.Duration, bool) {
	for _, lease := range b.Heartbeats {
		if lease.Name != member {
			continue
		}
		last := lease.CreationTimestamp.Time
		for _, f := range lease.ManagedFields {
			if f.Time != nil && f.Time.After(last) {
				last = f.Time.Time
			}
		}
		return max(0, b.At.Sub(last)), true
	}
	return 0, false
}
