package lab

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/atoll-mcs/atoll/lab/audit"
)

// Names of the units of a cluster.
const (
	unitEtcd              = "etcd"
	unitAPIServer         = "apiserver"
	unitControllerManager = "controller-manager"
	unitScheduler         = "scheduler"
	unitGateway           = "gateway"
)

// etcd runs without fsync: a lab does not survive a crash of its machine anyway.
func (l *Lab) etcd(c *Cluster) Unit {
	client := "http://" + c.Etcd.String()
	u := l.unit(c, unitEtcd, c.Etcd.String(),
		"etcd",
		"--name="+c.Name,
		"--data-dir="+l.etcdData(c.Name),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls=http://127.0.0.1:0", // no peers
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	u.Probe = client + "/health"
	return u
}

func (l *Lab) apiServer(c *Cluster) Unit {
	bind := "0.0.0.0"
	if c.hasIPv6() {
		bind = "::"
	}
	advertise, reconciler := c.APIServer.Addr(), "lease"
	if l.Spec.ControlPlaneOnly {
		// An endpoint must not be a loopback address, so the Service default/kubernetes gets none.
		bind, reconciler = "127.0.0.1", "none"
		if c.ServiceCIDRs[0].Addr().Is6() {
			advertise = netip.IPv6Loopback() // the services' family
		}
	}
	u := l.unit(c, unitAPIServer, c.APIServer.String(),
		"kube-apiserver",
		"--etcd-servers=http://"+c.Etcd.String(),
		"--bind-address="+bind,
		fmt.Sprintf("--secure-port=%d", c.APIServer.Port()),
		"--advertise-address="+advertise.String(),
		"--endpoint-reconciler-type="+reconciler,
		"--service-cluster-ip-range="+join(c.ServiceCIDRs),
		"--authorization-mode=Node,RBAC",
		"--client-ca-file="+l.pki(c, "ca.crt"),
		"--tls-cert-file="+l.pki(c, "apiserver.crt"),
		"--tls-private-key-file="+l.pki(c, "apiserver.key"),
		"--kubelet-certificate-authority="+l.pki(c, "ca.crt"),
		"--kubelet-client-certificate="+l.pki(c, "kubelet-client.crt"),
		"--kubelet-client-key="+l.pki(c, "kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc."+clusterDomain,
		"--service-account-key-file="+l.pki(c, "service-accounts.key"),
		"--service-account-signing-key-file="+l.pki(c, "service-accounts.key"),
		"--allow-privileged=true",
	)
	u.Probe = "https://" + c.APIServer.String() + "/readyz"
	if l.Spec.Audit {
		const policy = "audit-policy.yaml"
		u.Files = map[string]string{policy: audit.Policy}
		u.Argv = append(u.Argv, "--audit-policy-file="+filepath.Join(l.Dir(c.Name), policy), "--audit-log-path="+l.AuditLog(c.Name))
	}
	return u
}

// AuditLog is a cluster's audit log of all writes, if Options.Audit is set. Package audit reads it.
func (l *Lab) AuditLog(cluster string) string {
	return filepath.Join(l.Dir(cluster), "logs", "audit.log")
}

// brokerControllers are the controllers that a broker needs: for namespaces, garbage collection, service account
// tokens, roles and policies, and quotas. It runs no workloads.
var brokerControllers = []string{
	"namespace-controller", "garbage-collector-controller", "serviceaccount-controller",
	"legacy-serviceaccount-token-cleaner-controller", "serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller",
	"validatingadmissionpolicy-status-controller", "resourcequota-controller",
}

func (l *Lab) controllerManager(c *Cluster) Unit {
	controllers := "*"
	if c.Name == Broker {
		controllers = strings.Join(brokerControllers, ",")
	}
	u := l.unit(c, unitControllerManager, "",
		"kube-controller-manager",
		"--kubeconfig="+filepath.Join(l.Dir(c.Name), "controller-manager.conf"),
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true", // RBAC gives each controller its own permissions
		"--controllers="+controllers,
		"--allocate-node-cidrs=false",
		"--service-cluster-ip-range="+join(c.ServiceCIDRs),
		"--root-ca-file="+l.pki(c, "ca.crt"),
		"--service-account-private-key-file="+l.pki(c, "service-accounts.key"),
		// Only one signer: each watches its files, and inotify instances are limited (fs.inotify.max_user_instances).
		// Kubelets already have certificates.
		"--cluster-signing-legacy-unknown-cert-file="+l.pki(c, "ca.crt"),
		"--cluster-signing-legacy-unknown-key-file="+l.pki(c, "ca.key"),
		// Tests create hundreds of objects at once. The defaults (20 and 30) would dominate the measurements.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		// After an API server outage of 20 s, it may take as long again to watch the nodes' Leases. With the default of
		// 50 s all nodes, and the cluster's DNS, would then count as dead.
		"--node-monitor-grace-period=2m",
		"--profiling=false",
	)
	if len(c.PodCIDRs) > 0 {
		u.Argv = append(u.Argv, "--cluster-cidr="+join(c.PodCIDRs))
	}
	return u
}

func (l *Lab) scheduler(c *Cluster) Unit {
	return l.unit(c, unitScheduler, "",
		"kube-scheduler",
		"--kubeconfig="+filepath.Join(l.Dir(c.Name), "scheduler.conf"),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--profiling=false",
	)
}

// unit returns a unit of a cluster's first node that runs a Kubernetes program. Rare garbage collection saves 20 % of
// the CPU time for 500 MiB of memory (three clusters). One processor per program saves another 20 %, and a third in an
// idle lab: there are more programs than processors, and idle Go threads search all of theirs for work.
func (l *Lab) unit(c *Cluster, name, address, program string, args ...string) Unit {
	u := Unit{Cluster: c.Name, Name: name, Address: address, Argv: append([]string{filepath.Join(c.Programs, program)}, args...),
		Env: []string{"GOGC=400", fmt.Sprintf("GOMAXPROCS=%d", l.Spec.Processors)}}
	if len(c.Nodes) > 0 {
		u.Namespace = c.Nodes[0].Namespace
	}
	return u
}

func join[T fmt.Stringer](values []T) string { return strings.Join(texts(values), ",") }

func texts[T fmt.Stringer](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.String()
	}
	return all
}
