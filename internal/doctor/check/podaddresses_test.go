package check

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func running(ips ...string) (all []PodAddress) {
	for _, ip := range ips {
		all = append(all, PodAddress{"shop/web-" + ip, netip.MustParseAddr(ip)})
	}
	return all
}

func TestStrayPods(t *testing.T) {
	for name, tt := range map[string]struct {
		pods   []PodAddress
		ranges string
		want   []string // parts of the message; none for no message
		not    string
	}{
		"all within":          {running("10.1.0.5", "fd00::5"), "10.1.0.0/24 fd00::/64", nil, ""},
		"unused ranges":       {running("10.1.0.5"), "10.1.0.0/24 10.1.1.0/24", nil, ""},
		"another pool":        {running("10.1.0.5", "192.168.0.9", "192.168.0.2"), "10.1.0.0/24 10.1.1.0/24", []string{"2 of 3 addresses", "from 192.168.0.2 (pod shop/web-192.168.0.2) to 192.168.0.9 (pod"}, "No listed pod has an address in"},
		"unused podCIDRs":     {running("192.168.0.2"), "10.1.0.0/24 10.1.1.0/24", []string{"1 of 1 addresses", "No listed pod has an address in 10.1.0.0/24, 10.1.1.0/24, but this cluster refuses other clusters' endpoints in that range"}, ""},
		"a family is missing": {running("10.1.0.5", "fd00::5"), "10.1.0.0/24", []string{"1 of 2 addresses", "from fd00::5"}, "No listed pod has an address in"},
		"only one family":     {running("192.168.0.2"), "10.1.0.0/24 fd00::/64", []string{"No listed pod has an address in 10.1.0.0/24, but"}, "fd00::/64, but"},
		"many ranges":         {running("192.168.0.2"), "10.1.0.0/24 10.1.1.0/24 10.1.2.0/24 10.1.3.0/24 10.1.4.0/24 10.1.5.0/24", []string{"10.1.3.0/24 and 2 more: from"}, "10.1.4.0"},
	} {
		got := strayPods(tt.pods, strings.Fields(tt.ranges))
		if len(tt.want) == 0 && got != "" || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range tt.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", name, got, part)
			}
		}
	}
}

func TestAddressChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		change        func(*Cluster)
		about         Check
		status        Status
		message, hint string
	}{
		"known Service ranges":   {func(*Cluster) {}, ServiceRanges, OK, "10.96.0.0/12", ""},
		"unknown Service ranges": {func(c *Cluster) { c.Services = nil }, ServiceRanges, Warning, "only its default IP family", "atoll join FILE --service-cidr RANGE --context c1"},
		"pods within":            {func(c *Cluster) { c.Running = running("10.1.0.5") }, PodAddresses, OK, "1 addresses", ""},
		"pods outside":           {func(c *Cluster) { c.Running = running("10.7.0.5") }, PodAddresses, Warning, "No listed pod has an address in 10.1.0.0/16", "atoll join FILE --pod-cidr RANGE --context c1"},
		"unknown pod ranges":     {func(c *Cluster) { c.Running, c.Pods = running("10.7.0.5"), nil }, PodAddresses, Skipped, "--pod-cidr RANGE", ""},
		"no pods":                {func(c *Cluster) { c.Running = nil }, PodAddresses, Skipped, "no running pod", ""},
		"pods that are unread":   {func(c *Cluster) { c.PodsUnread = errors.New("forbidden") }, PodAddresses, Skipped, "forbidden", ""},
		"both ranges unknown":    {func(c *Cluster) { c.Pods, c.Services = nil, nil }, PodRanges, Skipped, "--service-cidr", ""},
	} {
		c := member(1)
		tt.change(&c)
		found := false
		for _, r := range Evaluate(Evidence{Clusters: []Cluster{c}, NoPods: true}) {
			if r.ID != tt.about.ID {
				continue
			}
			found = true
			if r.Status != tt.status || !strings.Contains(r.Message, tt.message) || !strings.HasSuffix(r.Hint, tt.hint) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if !found {
			t.Errorf("%s: no result of %s", name, tt.about)
		}
	}
}
