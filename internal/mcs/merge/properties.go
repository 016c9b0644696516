package merge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
)

// property is a property of the whole service. The oldest export's value wins; other values conflict.
type property struct {
	reason mcsv1beta1.ServiceExportConditionReason
	name   string
	// value returns a readable value to compare.
	value func(Export) string
	// concerns reports whether an export can disagree; nil means always.
	concerns func(oldest, e Export) bool
}

// properties are in the order in which conflicts are reported.
var properties = []property{
	{
		reason: mcsv1beta1.ServiceExportReasonTypeConflict,
		name:   "type",
		value:  func(e Export) string { return string(e.Type) },
	},
	{
		reason: mcsv1beta1.ServiceExportReasonSessionAffinityConflict,
		name:   "session affinity",
		value:  func(e Export) string { return string(affinity(e)) },
	},
	{
		reason: mcsv1beta1.ServiceExportReasonSessionAffinityConfigConflict,
		name:   "session affinity config",
		value:  affinityConfig,
		// If the affinity itself differs, its config does not matter.
		concerns: func(oldest, e Export) bool { return affinity(e) == affinity(oldest) },
	},
	{
		reason: mcsv1beta1.ServiceExportReasonInternalTrafficPolicyConflict,
		name:   "internal traffic policy",
		value: func(e Export) string {
			return string(ptr.Deref(e.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster))
		},
	},
	{
		reason: mcsv1beta1.ServiceExportReasonTrafficDistributionConflict,
		name:   "traffic distribution",
		value:  trafficDistribution,
	},
	{
		reason: ReasonClusterSelectorsConflict,
		name:   "cluster preferences",
		value:  preference,
	},
	{
		reason: mcsv1beta1.ServiceExportReasonLabelsConflict,
		name:   "exported labels",
		value:  func(e Export) string { return pairs(e.ExportedLabels) },
	},
	{
		reason: mcsv1beta1.ServiceExportReasonAnnotationsConflict,
		name:   "exported annotations",
		value:  func(e Export) string { return pairs(e.ExportedAnnotations) },
	},
}

// conflict returns the conflict about p among exports sorted by precedence, if any.
func (p property) conflict(exports []Export) []Conflict {
	oldest := exports[0]
	using := p.value(oldest)
	disagree := 0
	for _, e := range exports[1:] {
		if (p.concerns == nil || p.concerns(oldest, e)) && p.value(e) != using {
			disagree++
		}
	}
	if disagree == 0 {
		return nil
	}
	return []Conflict{{Reason: p.reason, Message: message(p.name, using, oldest.ClusterID, disagree, len(exports))}}
}

// longestValue limits a quoted value in a message, in bytes: labels and annotations may exceed a condition's message.
const longestValue = 300

// message follows KEP-1645's example.
func message(name, using, cluster string, disagree, of int) string {
	using = strconv.Quote(using)
	if len(using) > longestValue {
		using = strings.ToValidUTF8(using[:longestValue], "") + "…\""
	}
	return fmt.Sprintf("Conflicting %s. Using %s from oldest service export in %q. %d/%d clusters disagree.",
		name, using, cluster, disagree, of)
}

// affinityConfig returns the timeout, its only field, in seconds, with the API's default.
func affinityConfig(e Export) string {
	if affinity(e) != corev1.ServiceAffinityClientIP {
		return "none"
	}
	timeout := corev1.DefaultClientIPServiceAffinitySeconds
	if c := e.SessionAffinityConfig; c != nil && c.ClientIP != nil {
		timeout = ptr.Deref(c.ClientIP.TimeoutSeconds, timeout)
	}
	return fmt.Sprintf("timeout %d s", timeout)
}

// trafficDistribution maps PreferClose to PreferSameZone, its newer name.
func trafficDistribution(e Export) string {
	value := ptr.Deref(e.TrafficDistribution, "")
	if value == corev1.ServiceTrafficDistributionPreferClose {
		return corev1.ServiceTrafficDistributionPreferSameZone
	}
	return cmp.Or(value, "none")
}

// ReasonClusterSelectorsConflict is the KEP-5939 draft's.
const ReasonClusterSelectorsConflict = "ClusterSelectorsConflict"

// preference formats a preference of clusters, with its default.
func preference(e Export) string {
	if e.Preference == nil || len(e.Preference.ClusterSelectors)+len(e.Preference.Weights) == 0 {
		return "none"
	}
	p := e.Preference.DeepCopy()
	p.Fallback = cmp.Or(p.Fallback, trafficv1alpha1.FallbackAll)
	text, _ := json.Marshal(p) // always marshals; maps are sorted
	return string(text)
}

// pairs formats a map unambiguously and in a fixed order.
func pairs(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pair, _ := json.Marshal([]string{k, m[k]}) // strings always marshal
		parts = append(parts, strings.Trim(string(pair), "[]"))
	}
	return "{" + strings.Join(parts, "; ") + "}"
}
