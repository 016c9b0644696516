package podspec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Limits of a resolv.conf, as the API validates them for dnsConfig.
const (
	maxNameservers = 3
	maxSearches    = 32
)

// Resolver is the content of a resolv.conf.
type Resolver struct{ Nameservers, Searches, Options []string }

// ParseResolver reads a resolv.conf.
func ParseResolver(text string) Resolver {
	var r Resolver
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			r.Nameservers = append(r.Nameservers, fields[1])
		case "search", "domain":
			r.Searches = fields[1:] // the last one counts
		case "options":
			r.Options = append(r.Options, fields[1:]...)
		}
	}
	return r
}

// String is the file's text.
func (r Resolver) String() string {
	var b strings.Builder
	if len(r.Searches) > 0 {
		b.WriteString("search " + strings.Join(r.Searches, " ") + "\n")
	}
	for _, n := range r.Nameservers {
		b.WriteString("nameserver " + n + "\n")
	}
	if len(r.Options) > 0 {
		b.WriteString("options " + strings.Join(r.Options, " ") + "\n")
	}
	return b.String()
}

// PodResolver returns what a Pod gets by its dnsPolicy and dnsConfig, where the
// cluster's name servers serve domain and the node itself uses host.
func PodResolver(pod *corev1.Pod, host Resolver, nameservers []string, domain string) Resolver {
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirstWithHostNet {
		policy = corev1.DNSClusterFirst
	} else if policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork {
		policy = corev1.DNSDefault
	}
	var r Resolver
	switch {
	case policy == corev1.DNSNone:
	case policy == corev1.DNSDefault || len(nameservers) == 0:
		r = Resolver{slices.Clone(host.Nameservers), slices.Clone(host.Searches), slices.Clone(host.Options)}
	default:
		r.Nameservers = slices.Clone(nameservers)
		r.Searches = append([]string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}, host.Searches...)
		r.Options = []string{"ndots:5"}
	}
	if c := pod.Spec.DNSConfig; c != nil {
		r.Nameservers = unique(append(r.Nameservers, c.Nameservers...))
		r.Searches = append(r.Searches, c.Searches...)
		r.Options = mergeOptions(r.Options, c.Options)
	}
	r.Searches = unique(r.Searches)
	r.Nameservers = r.Nameservers[:min(len(r.Nameservers), maxNameservers)]
	r.Searches = r.Searches[:min(len(r.Searches), maxSearches)]
	return r
}

// mergeOptions lets each option of the Pod take the place of one of its name.
func mergeOptions(options []string, own []corev1.PodDNSConfigOption) []string {
	merged := slices.Clone(options)
	for _, o := range own {
		text := o.Name
		if o.Value != nil && *o.Value != "" {
			text += ":" + *o.Value
		}
		merged = slices.DeleteFunc(merged, func(have string) bool {
			name, _, _ := strings.Cut(have, ":")
			return name == o.Name
		})
		merged = append(merged, text)
	}
	return merged
}

func unique(values []string) []string {
	var kept []string
	for _, v := range values {
		if !slices.Contains(kept, v) {
			kept = append(kept, v)
		}
	}
	return kept
}
