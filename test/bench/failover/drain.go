package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// drains drains the victim's export and ends the drain, again and again.
func (b *bench) drains(ctx context.Context, c *figure.Case) error {
	if err := errors.Join(b.create(ctx, drained, other, 3, 5, true), b.create(ctx, drained, victim, 3, 5, true)); err != nil {
		return err
	}
	all, stop, err := b.sendAll(ctx, drained)
	if err != nil {
		return err
	}
	defer stop()
	if err := until(ctx, all, time.Now(), victim, time.Minute); err != nil {
		return err
	}
	address, err := b.clustersetIP(ctx, drained, near)
	if err != nil {
		return err
	}
	finish, err := b.hold(address)
	if err != nil {
		return err
	}
	if _, err := settleAll(ctx, all, time.Now(), calm, time.Minute, failed); err != nil {
		return err
	}
	began, rounds := time.Now(), max(2, int(20*b.Scale))
	var took []time.Duration
	for range rounds {
		if err := b.jitter(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := b.drain(ctx, true); err != nil {
			return err
		}
		each, err := settleAll(ctx, all, began, calm, 20*time.Second, by(victim))
		if err != nil {
			return err
		}
		took = append(took, each...)
		b.Say("failover: drain %d of %d: new connections left after %v", len(took)/len(all), rounds, each)
		began = time.Now()
		if err := b.drain(ctx, false); err != nil {
			return err
		}
		if err := until(ctx, all, began, victim, 20*time.Second); err != nil {
			return err
		}
	}
	lost, sent, err := b.lost(ctx, all, began)
	if err != nil {
		return err
	}
	held := finish()
	kept := 1.0
	if strings.HasPrefix(held, "broken") {
		b.Say("failover: the long connection: %s", held)
		kept = 0
	}
	c.Add(figure.Times("drain, until < 1 % of new connections go there", figure.Milliseconds, took, nil).P99AtMost(1000),
		figure.Once(fmt.Sprintf("lost in %d drains and undrains, of %d", rounds, sent), "requests", float64(lost)).Exactly(0),
		figure.Once("long connections kept, of 1", "connections", kept).Exactly(1).Because("used "+held+" times"))
	return nil
}

// drain drains the victim's export, or ends the drain, as the command atoll drain does.
func (b *bench) drain(ctx context.Context, on bool) error {
	value := "null"
	if on {
		value = `"true"`
	}
	export := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: drained}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, names.AnnotationDrained, value)
	return b.on[victim].Patch(ctx, export, client.RawPatch(types.MergePatchType, patch))
}
