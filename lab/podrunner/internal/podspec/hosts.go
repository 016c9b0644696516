package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Hostname returns the Pod's host name and the name with which it is known in
// the cluster, which is empty unless the Pod names a subdomain.
func Hostname(pod *corev1.Pod, domain string) (hostname, fqdn string) {
	hostname = pod.Spec.Hostname
	if hostname == "" {
		hostname = pod.Name
	}
	// A longer one is no host name; the kubelet cuts it the same way.
	hostname = strings.TrimRight(hostname[:min(len(hostname), 63)], "-.")
	if pod.Spec.Subdomain != "" {
		fqdn = fmt.Sprintf("%s.%s.%s.svc.%s", hostname, pod.Spec.Subdomain, pod.Namespace, domain)
	}
	return hostname, fqdn
}

const localHosts = `127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
`

// Hosts is the /etc/hosts of a Pod with these names, of which fqdn may be empty.
func Hosts(hostname, fqdn string, podIPs []string, aliases []corev1.HostAlias) string {
	var b strings.Builder
	b.WriteString("# Written by Atoll's pod runner.\n" + localHosts)
	names := hostname
	if fqdn != "" {
		names = fqdn + "\t" + hostname
	}
	for _, ip := range podIPs {
		fmt.Fprintf(&b, "%s\t%s\n", ip, names)
	}
	for _, alias := range aliases {
		fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return b.String()
}
