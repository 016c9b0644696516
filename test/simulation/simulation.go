// Package simulation runs the agents of many member clusters in one process with in-memory API
// servers. The broker is in memory too, or a real API server whose load can be measured.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// Scheme registers all kinds that clusters and brokers store.
func Scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, aboutv1beta1.AddToScheme, mcsv1beta1.Install, trafficv1alpha1.AddToScheme, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme)
}

// Broker is the broker that members join.
type Broker struct {
	// Admin is an administrator's client for the broker.
	Admin client.WithWatch
	// API is the API server of an in-memory broker.
	API *apiserver.Server
	// Invite returns the configuration with which a member's agent connects to the broker.
	Invite func(ctx context.Context, id names.ClusterID) (*rest.Config, error)
}

// RealBroker returns a broker on a real API server. The default namespace must exist. Each
// member gets its own credentials and connection.
func RealBroker(config *rest.Config) (*Broker, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	admin, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("making a client for the broker: %w", err)
	}
	return &Broker{Admin: admin, Invite: func(ctx context.Context, id names.ClusterID) (*rest.Config, error) {
		return invite(ctx, admin, config, id)
	}}, nil
}

// invite creates the member's account and role, if necessary, and a token.
func invite(ctx context.Context, admin client.Client, config *rest.Config, id names.ClusterID) (*rest.Config, error) {
	member := rights.Member(broker.DefaultNamespace, id)
	account := member.ServiceAccount
	err := admin.Create(ctx, account)
	if apierrors.IsAlreadyExists(err) {
		err = admin.Get(ctx, client.ObjectKeyFromObject(account), account)
	}
	if err != nil {
		return nil, fmt.Errorf("making the account of %s: %w", id, err)
	}
	for _, o := range member.Rights(account) {
		if err := admin.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("making %s: %w", o.GetName(), err)
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, fmt.Errorf("getting a token of %s: %w", account.Name, err)
	}
	return &rest.Config{
		Host:            config.Host,
		BearerToken:     token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData, CAFile: config.CAFile},
		// Without its own dialer, members whose settings differ only in the token would share a
		// connection.
		Dial: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	}, nil
}

// MemoryBroker returns an in-memory broker without authentication.
func MemoryBroker() (*Broker, error) {
	api := apiserver.New(250)
	admin, err := client.NewWithWatch(api.Config(), client.Options{Scheme: Scheme()})
	if err == nil {
		err = admin.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: broker.DefaultNamespace}})
	}
	if err != nil {
		return nil, fmt.Errorf("making a broker in memory: %w", err)
	}
	return &Broker{Admin: admin, API: api, Invite: func(context.Context, names.ClusterID) (*rest.Config, error) { return api.Config(), nil }}, nil
}

// Member is a simulated member cluster with its agent.
type Member struct {
	// ID is the cluster's id.
	ID names.ClusterID
	// API is the cluster's API server.
	API *apiserver.Server
	// Client is an administrator's client for the cluster.
	Client client.WithWatch

	options agent.Options
	log     *slog.Logger
	broker  *Broker
	stop    func()
	done    chan error // gets the agent's error, once
}

// Options configure a member.
type Options struct {
	// Args are arguments of the agent, as on its command line.
	Args []string
	// Log receives the agents' messages; nil discards them.
	Log *slog.Logger
	// Wrap, unless nil, wraps the agent's connections to its cluster and to the broker.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Dial replaces the network for probes of other members' endpoints. If nil, all endpoints refuse connections, as
	// pods without a listener do.
	Dial func(ctx context.Context, from names.ClusterID, network, address string) (net.Conn, error)
}

// Join starts a member and returns when its agent has registered it. Each member needs a
// different number, at most 249.
func Join(ctx context.Context, b *Broker, number int, o Options) (*Member, error) {
	id, err := names.ParseClusterID(fmt.Sprintf("sim%d", number))
	if err != nil {
		return nil, err
	}
	api := apiserver.New(byte(number))
	c, err := client.NewWithWatch(api.Config(), client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", id, err)
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.SystemNamespace}}); err != nil {
		return nil, fmt.Errorf("making namespace %s in %s: %w", names.SystemNamespace, id, err)
	}
	options, err := AgentOptions(id, o.Args)
	if err != nil {
		return nil, err
	}
	options.Local = api.Config()
	if options.Broker, err = b.Invite(ctx, id); err != nil {
		return nil, fmt.Errorf("inviting %s: %w", id, err)
	}
	if o.Wrap != nil {
		options.Local.Wrap(o.Wrap)
		options.Broker.Wrap(o.Wrap)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if o.Dial != nil {
			return o.Dial(ctx, id, network, address)
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	m := &Member{ID: id, API: api, Client: c, options: options, log: log, broker: b}
	if err := m.Start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// Start runs an agent in the cluster and returns when the agent has registered the cluster. No
// agent may be running.
func (m *Member) Start(ctx context.Context) error {
	m.done = make(chan error, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	done := m.done
	go func() { done <- agent.Run(running, m.options, m.log) }()
	if err := m.await(ctx); err != nil {
		return errors.Join(fmt.Errorf("waiting for %s: %w", m.ID, err), m.Stop())
	}
	return nil
}

// AgentOptions parses an agent's arguments. The agent listens on no port. The caller sets the
// API servers.
func AgentOptions(id names.ClusterID, args []string) (agent.Options, error) {
	var options agent.Options
	flags := pflag.NewFlagSet(id.String(), pflag.ContinueOnError)
	options.AddFlags(flags)
	all := append([]string{
		"--cluster-id=" + id.String(), "--region=" + id.String(),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, args...)
	if err := flags.Parse(all); err != nil {
		return agent.Options{}, fmt.Errorf("the agent's arguments: %w", err)
	}
	return options, nil
}

// await waits until the broker has the member's entry.
func (m *Member) await(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := m.broker.Admin.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: m.ID.String()}, &brokerv1alpha1.MemberCluster{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case ended := <-m.done:
			m.done <- ended
			return fmt.Errorf("the agent has ended: %w", ended)
		case <-again.C:
		}
	}
}

// Stop stops the agent and returns its error. The cluster's objects stay.
func (m *Member) Stop() error {
	m.stop()
	err := <-m.done
	m.done <- err
	return err
}

// JoinAll starts members, and stops all if a member does not start.
func JoinAll(ctx context.Context, b *Broker, count int, o Options) ([]*Member, error) {
	var members []*Member
	for i := range count {
		m, err := Join(ctx, b, i+1, o)
		if err != nil {
			return nil, errors.Join(err, StopAll(members))
		}
		members = append(members, m)
	}
	return members, nil
}

// StopAll stops members and returns their errors.
func StopAll(members []*Member) error {
	for _, m := range members {
		m.stop()
	}
	var failed error
	for _, m := range members {
		failed = errors.Join(failed, m.Stop())
	}
	return failed
}
