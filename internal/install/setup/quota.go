package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
)

const (
	// countPatience is the time after which kube-controller-manager has counted the objects of the kinds that it knows.
	countPatience = 3 * time.Second
	// kindsPatience is twice the time after which kube-controller-manager knows a new kind.
	kindsPatience = time.Minute
)

// CreateQuota creates a clusterset's quota, unless an administrator already limits the number of its objects. On a new
// broker, it waits until kube-controller-manager counts the new kinds.
func CreateQuota(ctx context.Context, on *install.Target, namespace string, say Say) error {
	quotas, err := listQuotas(ctx, on, namespace)
	if err != nil {
		return err
	}
	if len(quotas) > 0 {
		on.Report(install.Unchanged, &quotas[0], "")
		return nil
	}
	quota, err := quotaWithRoom(ctx, on, namespace)
	if err != nil {
		return err
	}
	waits := false
	err = install.Wait(ctx, kindsPatience, func(ctx context.Context) error {
		isCounted, err := tryQuota(ctx, on, quota.DeepCopy())
		if err != nil || isCounted {
			return err
		}
		if !waits {
			say("waiting until the broker counts the objects of its new kinds, which takes about half a minute")
		}
		waits = true
		return errors.New("the broker's kube-controller-manager does not count the objects of Atoll's kinds")
	})
	if err != nil {
		say("warning: the clusterset has no quota: %v. To try again: %s", err, RestoreLimits(on, namespace))
		return nil
	}
	on.Report(install.Created, quota, "")
	return nil
}

// tryQuota creates a quota and returns true, or deletes it again if the objects are not counted soon: the broker would refuse
// all objects of a kind that is not counted. A new kind is counted after five minutes, but at once by a new quota.
func tryQuota(ctx context.Context, on *install.Target, quota *corev1.ResourceQuota) (isCounted bool, _ error) {
	if err := on.Create(ctx, quota); err != nil {
		return false, fmt.Errorf("creating %s: %w", install.Name(quota), err)
	}
	err := install.Wait(ctx, countPatience, func(ctx context.Context) error {
		if err := on.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Used) < len(quota.Spec.Hard) {
			return errors.New("not counted yet")
		}
		return nil
	})
	if err == nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countPatience) // also if the command is interrupted
	defer cancel()
	return false, client.IgnoreNotFound(on.Client.Delete(ctx, quota))
}

// quotaWithRoom returns the quota with room for at least twice the objects that exist.
func quotaWithRoom(ctx context.Context, on *install.Target, namespace string) (*corev1.ResourceQuota, error) {
	quota := rights.Quota(namespace)
	quota.Labels[install.LabelManagedBy] = install.ManagedBy
	for _, c := range rights.AllCounted {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(c.Kind.GroupVersion().WithKind(c.Kind.Kind + "List"))
		if err := on.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("counting objects of kind %s: %w", c.Kind.Kind, err)
		}
		quota.Spec.Hard[c.Resource] = *resource.NewQuantity(max(c.Most, 2*int64(len(list.Items))), resource.DecimalSI)
	}
	return quota, nil
}

// listQuotas returns the quotas that limit the number of a clusterset's objects, whatever their names.
func listQuotas(ctx context.Context, on *install.Target, namespace string) ([]corev1.ResourceQuota, error) {
	all := &corev1.ResourceQuotaList{}
	if err := on.List(ctx, all, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing quotas of the clusterset: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(q corev1.ResourceQuota) bool {
		return q.Name != rights.QuotaName && !slices.ContainsFunc(rights.AllCounted, func(c rights.Counted) bool {
			_, limited := q.Spec.Hard[c.Resource]
			return limited
		})
	}), nil
}

// nearlyFull is the part of a quota, in percent, from which on administrators are warned. The alert AtollBrokerQuotaNearlyFull
// has the same value.
const nearlyFull = 70

// QuotaWarnings returns a text for each limit of a clusterset's quotas that is nearly reached.
func QuotaWarnings(ctx context.Context, on *install.Target, namespace string) (warnings []string, _ error) {
	quotas, err := listQuotas(ctx, on, namespace)
	if err != nil {
		return nil, err
	}
	for _, q := range quotas {
		for _, c := range rights.AllCounted {
			limit, limited := q.Status.Hard[c.Resource]
			exist := q.Status.Used[c.Resource]
			hard, used := limit.Value(), exist.Value()
			if !limited || 100*used < nearlyFull*hard {
				continue
			}
			warnings = append(warnings, fmt.Sprintf("%d of at most %d objects of kind %s exist (%d %% of the quota). When the quota is full, no member can create more. To raise the quota: %s",
				used, hard, c.Kind.Kind, 100*used/max(hard, 1), on.On.Kubectl(`-n %s patch resourcequota %s --type=merge -p '{"spec":{"hard":{"%s":"%d"}}}'`, namespace, q.Name, c.Resource, 2*used)))
		}
	}
	return warnings, nil
}
