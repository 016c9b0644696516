// Package podrunner is the lab's stand-in for the kubelet. It registers the
// nodes of one cluster, runs the Pods that the scheduler binds to them as
// processes of the host, each Pod in a network namespace with addresses of its
// own, reports their status and serves logs, exec, attach and port-forward.
//
// What it does is meant to look to an API client like a kubelet's work. What it
// leaves out: images are not pulled (see Config.Images), resource limits and
// capabilities are ignored, as are host ports, persistent volumes and shared
// process namespaces. It differs on purpose where somebody waits in front of a
// lab: a container that keeps ending is started again after 1 s to 1 min rather
// than 10 s to 5 min, and one that is not ready yet is asked every 250 ms.
package podrunner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
)

// Config says which nodes a pod runner stands for.
type Config struct {
	// Lab and Cluster name the Pods' network namespaces. Every container gets
	// the environment variables ATOLL_LAB_CLUSTER with the cluster's name and
	// ATOLL_LAB_NODE with the node's.
	Lab     string `json:"lab"`
	Cluster string `json:"cluster"`
	// Kubeconfig is the file with the credentials. They need the rights of
	// system:masters: the runner reads all ConfigMaps, Secrets and Services and
	// asks for service account tokens.
	Kubeconfig string `json:"kubeconfig"`
	// StateDir is a folder of the runner's own, for the Pods' files and logs.
	// Containers see it empty.
	StateDir string `json:"stateDir"`
	// ClusterDomain is usually cluster.local.
	ClusterDomain string `json:"clusterDomain"`
	// ClusterDNS are the addresses of the cluster's DNS Service.
	ClusterDNS []string `json:"clusterDNS"`
	// Images maps image repositories, without tag and without docker.io's
	// default parts, to a program of the host with arguments; an empty list
	// makes the container's args the command. Containers that name a command
	// need no image.
	Images map[string][]string `json:"images"`
	// ImagePrograms says, by image repository and path in the container, which host
	// file is there instead of the host's own: for images whose programs behave
	// differently.
	ImagePrograms map[string]map[string]string `json:"imagePrograms,omitempty"`
	Nodes         []Node                       `json:"nodes"`
	// ServingCert, ServingKey and ClientCA are files: the kubelet endpoint
	// serves clients with a certificate of ClientCA for the organisation
	// system:masters, and nobody else.
	ServingCert string `json:"servingCert"`
	ServingKey  string `json:"servingKey"`
	ClientCA    string `json:"clientCA"`
	// InitCommand are this program's name and the arguments with which it calls
	// ContainerInit. Empty means `lab container-init`.
	InitCommand []string `json:"initCommand,omitempty"`
}

// Node is a node of the cluster.
type Node struct {
	Name      string            `json:"name"`
	Zone      string            `json:"zone"`
	Region    string            `json:"region"`
	Namespace network.Namespace `json:"namespace"`
	// Addresses are the node's InternalIP, one per family.
	Addresses []netip.Addr `json:"addresses"`
	// PodCIDRs are the ranges for Pods, one per family; the first address of
	// each is the gateway. The first family is the Pods' primary one.
	PodCIDRs []netip.Prefix `json:"podCIDRs"`
}

// ReadConfig reads a Config from a JSON file.
func ReadConfig(path string) (Config, error) {
	var cfg Config
	text, err := os.ReadFile(path)
	if err != nil {
		return cfg, fmt.Errorf("reading configuration: %w", err)
	}
	if err := json.Unmarshal(text, &cfg); err != nil {
		return cfg, fmt.Errorf("reading configuration %s: %w", path, err)
	}
	return cfg, nil
}

// complete checks the configuration and fills in what may be left out.
func (c *Config) complete() error {
	if c.Lab == "" || c.Cluster == "" || c.StateDir == "" || len(c.Nodes) == 0 {
		return errors.New("configuration: lab, cluster, stateDir and nodes are required")
	}
	if !filepath.IsAbs(c.StateDir) {
		return fmt.Errorf("configuration: stateDir %q is not absolute", c.StateDir)
	}
	for _, n := range c.Nodes {
		if n.Name == "" || len(n.Addresses) == 0 || len(n.PodCIDRs) == 0 {
			return fmt.Errorf("configuration: node %q needs a name, addresses and podCIDRs", n.Name)
		}
	}
	if c.ClusterDomain == "" {
		c.ClusterDomain = "cluster.local"
	}
	if len(c.InitCommand) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		c.InitCommand = []string{exe, "lab", "container-init"}
	}
	return nil
}

// podNamespacePrefix begins the names of this runner's network namespaces.
func (c *Config) podNamespacePrefix() string { return "atoll-" + c.Lab + "-" + c.Cluster + "-pod-" }

func (c *Config) podsDir() string { return filepath.Join(c.StateDir, "pods") }
func (c *Config) logsDir() string { return filepath.Join(c.StateDir, "logs") }

// ContainerInit is the main function of a container's first process. It does
// not return.
func ContainerInit() { container.Init() }
