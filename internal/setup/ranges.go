package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

// MemberRanges is which addresses one member's endpoints may have, and what that comes to.
type MemberRanges struct {
	// Cluster is the member's id, or what is written in place of one.
	Cluster string `json:"cluster"`
	// Member tells whether there is such a member.
	Member bool `json:"member"`
	// Restricted tells whether its endpoints may have addresses in Ranges alone, and otherwise any.
	Restricted bool     `json:"restricted"`
	Ranges     []string `json:"ranges,omitempty"`
	// Mistakes are what is written and can't be read: it allows nothing.
	Mistakes []string `json:"mistakes,omitempty"`
	// Published is how many addresses of endpoints it has on the broker, Outside how many of these it may not have.
	Published int `json:"published"`
	Outside   int `json:"outside"`
	// Examples are some of those, with their services.
	Examples []string `json:"examples,omitempty"`
}

// RangesChange is a change of which addresses members' endpoints may have. The zero value changes nothing.
type RangesChange struct {
	// Set are members with what they may have from now on.
	Set map[names.ClusterID]ranges.Set
	// Clear are those, by what is written for their ids, that may have any; ClearAll has all be so.
	Clear    []string
	ClearAll bool
	// DryRun changes nothing, and returns what would be.
	DryRun bool
}

// RangesNow is what holds of the addresses that members may have.
type RangesNow struct {
	// Members are those, and others of whom something is written, by their ids.
	Members []MemberRanges
	// Blind are the roles whose holders can't see what is written, and so do not heed it: an older version has made them. Each has
	// the command, without flags, that makes it anew.
	Blind map[string]string
	// First tells that the change has made the ConfigMap, or would: nothing was written, or it was lost.
	First bool
}

// Ranges changes which addresses the members of a clusterset may have, on its broker, and returns what holds then.
func Ranges(ctx context.Context, on *install.Target, namespace string, change RangesChange) (*RangesNow, error) {
	if err := clusterset(ctx, on, namespace); err != nil {
		return nil, err
	}
	config, first, err := change.write(ctx, on, namespace)
	if err != nil {
		return nil, err
	}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := on.List(ctx, members, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	published := &discoveryv1.EndpointSliceList{}
	if err := on.List(ctx, published, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}); err != nil {
		return nil, fmt.Errorf("listing what members have published: %w", err)
	}
	blind, err := blindRoles(ctx, on, namespace)
	if err != nil {
		return nil, err
	}
	return &RangesNow{Members: tellRanges(config, members.Items, published.Items), Blind: blind, First: first}, nil
}

// blindRoles are the roles whose holders can't see what is written, with the commands that make them anew.
func blindRoles(ctx context.Context, on *install.Target, namespace string) (map[string]string, error) {
	blind := map[string]string{}
	for name, command := range map[string]string{rights.MemberRole: "atoll broker deploy", rights.HubRole: "atoll hub deploy"} {
		role := &rbacv1.Role{}
		switch err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, role); {
		case apierrors.IsNotFound(err): // there is no hub
		case err != nil:
			return nil, fmt.Errorf("reading Role %s/%s: %w", namespace, name, err)
		case !rights.ShowsRanges(role):
			blind[name] = command
		}
	}
	return blind, nil
}

// write carries the change out, and returns the ConfigMap as it is then, and whether there was none. Where something is to be changed there is one
// afterwards, if an empty one: for agents, none is no word at all.
func (change RangesChange) write(ctx context.Context, on *install.Target, namespace string) (written *corev1.ConfigMap, first bool, err error) {
	have := &corev1.ConfigMap{}
	err = on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.AllowedRanges}, have)
	switch {
	case apierrors.IsNotFound(err):
		config := change.of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: names.AllowedRanges, Labels: map[string]string{install.LabelManagedBy: install.ManagedBy},
		}})
		if change.none() || change.DryRun {
			return config, !change.none(), nil
		}
		if err := on.Create(ctx, config); err != nil {
			return nil, false, fmt.Errorf("creating %s: %w", install.Name(config), err)
		}
		return config, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, names.AllowedRanges, err)
	}
	config := change.of(have.DeepCopy())
	if change.none() || change.DryRun {
		return config, false, nil
	}
	// What somebody else writes for other members meanwhile stays.
	if err := on.Patch(ctx, config, client.MergeFrom(have)); err != nil {
		return nil, false, fmt.Errorf("changing %s: %w", install.Name(config), err)
	}
	return config, false, nil
}

func (change RangesChange) none() bool {
	return len(change.Set) == 0 && len(change.Clear) == 0 && !change.ClearAll
}

// of carries the change out on a ConfigMap, which it returns.
func (change RangesChange) of(config *corev1.ConfigMap) *corev1.ConfigMap {
	if change.ClearAll {
		config.Data, config.BinaryData = nil, nil
	}
	for _, key := range change.Clear {
		delete(config.Data, key)
		delete(config.BinaryData, key)
	}
	for id, set := range change.Set {
		if config.Data == nil {
			config.Data = map[string]string{}
		}
		config.Data[id.String()] = set.String()
		delete(config.BinaryData, id.String())
	}
	return config
}

// someExamples is how many addresses are told that a member may not have.
const someExamples = 5

// tellRanges returns what a ConfigMap means for members, and for what else it is about.
func tellRanges(config *corev1.ConfigMap, members []brokerv1alpha1.MemberCluster, published []discoveryv1.EndpointSlice) []MemberRanges {
	rows := map[string]*MemberRanges{}
	row := func(id string) *MemberRanges {
		if rows[id] == nil {
			rows[id] = &MemberRanges{Cluster: id}
		}
		return rows[id]
	}
	for _, m := range members {
		row(m.Name).Member = true
	}
	allowed, _ := ranges.Read(config)
	for id, set := range allowed {
		r := row(id.String())
		r.Restricted, r.Ranges = true, set.Texts()
	}
	for key := range config.Data {
		row(key).Mistakes = mistakes(key, config.Data[key])
	}
	for key := range config.BinaryData {
		row(key).Mistakes = mistakes(key, string(config.BinaryData[key]))
	}
	for i := range published {
		if r := rows[published[i].Labels[names.LabelSourceCluster]]; r != nil {
			r.count(allowed, &published[i])
		}
	}
	sorted := []MemberRanges{}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		sorted = append(sorted, *rows[id])
	}
	return sorted
}

// mistakes are what is wrong with an entry.
func mistakes(key, value string) []string {
	var all []string
	if _, err := names.ParseClusterID(key); err != nil {
		all = append(all, err.Error())
	}
	if _, err := ranges.Parse(value); err != nil {
		all = append(all, strings.Split(err.Error(), "\n")...)
	}
	return all
}

// count takes notice of what a member has published.
func (r *MemberRanges) count(allowed ranges.Allowed, published *discoveryv1.EndpointSlice) {
	if published.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	for _, e := range published.Endpoints {
		for _, text := range e.Addresses {
			r.Published++
			address, err := netip.ParseAddr(text)
			if err == nil && allowed.Allows(names.ClusterID(r.Cluster), address) {
				continue
			}
			if r.Outside++; len(r.Examples) < someExamples {
				r.Examples = append(r.Examples, fmt.Sprintf("%.50s (%s/%s)", text, published.Labels[names.LabelServiceNamespace], published.Labels[names.LabelServiceName]))
			}
		}
	}
}

// ParseRanges reads ranges that a person gives; the error tells all that are none.
func ParseRanges(texts []string) (ranges.Set, error) {
	set, err := ranges.Parse(strings.Join(texts, " "))
	if err == nil && len(set.Texts()) == 0 {
		err = errors.New("there is no range: give some, or --none")
	}
	return set, err
}
