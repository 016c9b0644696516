package convergence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/plugin/clusterset"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

const zone = "clusterset.local."

// cluster is a member: an in-memory API server, agents, a DNS server, and users.
type cluster struct {
	id      names.ClusterID
	number  int
	api     *apiserver.Server
	admin   client.WithWatch
	options agent.Options
	network validation.Network
	region  string
	log     *slog.Logger

	local, broker *way // connections of the agents and the DNS server
	agents        []*process
	started       time.Time // when the last agent started
	dns           *resolver
	isolated      bool // other clusters cannot reach this cluster's pods
	fast          atomic.Int64

	users *users
}

// process is a running program.
type process struct {
	life context.Context
	kill func()
	done chan error
}

func newCluster(number, replicas int, broker *apiserver.Server, random *rand.Rand, unreachable func(from, to int) bool, log *slog.Logger) (*cluster, error) {
	id := names.ClusterID(fmt.Sprintf("c%d", number))
	if number == 2 {
		id = "c2.eu" // two labels
	}
	region := []string{"east", "west"}[number%2]
	pods := fmt.Sprintf("10.%d.0.0/16", 200+number)
	options, err := simulation.AgentOptions(id, []string{
		fmt.Sprintf("--leader-elect=%t", replicas > 1), "--region=" + region, "--pod-cidr=" + pods,
	})
	if err != nil {
		return nil, err
	}
	network, err := validation.ParseNetwork([]string{fmt.Sprintf("10.%d.0.0/16", number)}, []string{pods})
	if err != nil {
		return nil, err
	}
	c := &cluster{
		id: id, number: number, api: apiserver.New(byte(number)), options: options, network: network, region: region, log: log.With("of", id),
		local: newWay(random), broker: newWay(random), users: newUsers(),
	}
	if c.admin, err = client.NewWithWatch(c.api.Config(), client.Options{Scheme: simulation.Scheme()}); err != nil {
		return nil, err
	}
	c.options.Local, c.options.Broker = c.api.Config(), broker.Config()
	c.options.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, err
		}
		if unreachable(number, int(to.Addr().As4()[1])-200) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.EHOSTUNREACH}
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED} // a refused connection proves that the cluster is reachable
	}
	c.options.Now = func() time.Time { return time.Now().Add(c.clock()) }
	ctx := context.Background()
	for _, name := range []string{names.SystemNamespace, steadyNamespace} {
		if err := c.admin.Create(ctx, made.Namespace(name)); err != nil {
			return nil, err
		}
	}
	for i, zone := range []string{"a", "b"}[:number%3] {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1), Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
		if err := c.admin.Create(ctx, node); err != nil {
			return nil, err
		}
		c.users.nodes[node.Name] = node
	}
	c.network.IsHost = c.users.isHost
	c.agents = make([]*process, replicas)
	c.startAgents()
	return c, c.startDNS()
}

// startAgents starts all agents. All must be stopped.
func (c *cluster) startAgents() {
	for i := range c.agents {
		c.agents[i] = c.startAgent()
	}
}

// endAgents stops all agents.
func (c *cluster) endAgents() error {
	var failed error
	for _, p := range c.agents {
		failed = errors.Join(failed, p.end())
	}
	return failed
}

// clock returns by how much the cluster's clocks are fast: those of its API server and of its
// agents.
func (c *cluster) clock() time.Duration { return time.Duration(c.fast.Load()) }

// setClock sets them.
func (c *cluster) setClock(fast time.Duration) {
	c.api.SetFast(fast)
	c.fast.Store(int64(fast))
}

func (c *cluster) startAgent() *process {
	p := newProcess()
	c.started = time.Now()
	options := c.options
	options.Local, options.Broker = rest.CopyConfig(options.Local), rest.CopyConfig(options.Broker)
	options.Local.Wrap(c.local.of(p.life))
	options.Broker.Wrap(c.broker.of(p.life))
	go func() { p.done <- agent.Run(p.life, options, c.log) }()
	return p
}

func newProcess() *process {
	life, kill := context.WithCancel(context.Background())
	return &process{life: life, kill: kill, done: make(chan error, 1)}
}

// restartAgent kills an agent at any moment and starts it again.
func (c *cluster) restartAgent(i int) error {
	if err := c.agents[i].end(); err != nil {
		return err
	}
	c.agents[i] = c.startAgent()
	return nil
}

// end stops a process. A process that has already ended is ignored.
func (p *process) end() error {
	if p.life.Err() != nil {
		return nil
	}
	p.kill()
	if err := <-p.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("an agent has ended: %w", err)
	}
	return nil
}

// resolver is a running DNS server.
type resolver struct {
	*clusterset.Clusterset
	*process
}

func (c *cluster) startDNS() error {
	p := newProcess()
	config := rest.CopyConfig(c.api.Config())
	config.Wrap(c.local.of(p.life))
	server, run, err := clusterset.New(config, zone)
	if err != nil {
		return fmt.Errorf("making a DNS server: %w", err)
	}
	go func() {
		run(p.life)
		p.done <- nil
	}()
	c.dns = &resolver{server, p}
	return nil
}

// end stops the agents and the DNS server.
func (c *cluster) end() error {
	return errors.Join(c.endAgents(), c.dns.end())
}
