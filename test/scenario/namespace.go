package scenario

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// namespaceTime limits the deletion of a namespace.
const namespaceTime = 90 * time.Second

// core returns a client with a connection of its own. A shared connection can lead to an API server that a scenario has
// killed or cut off. A kubectl process for each namespace and cluster would cost a minute of processor time in all.
func (r realLab) core(cluster string) (typedcorev1.CoreV1Interface, error) {
	config, err := r.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Dial = new(net.Dialer).DialContext
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.CoreV1(), nil
}

func (r realLab) CreateNamespace(ctx context.Context, cluster, name string) error {
	core, err := r.core(cluster)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	// Pods cannot be created before their service account.
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, err := core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func (r realLab) DeleteNamespace(ctx context.Context, cluster, name string) error {
	core, err := r.core(cluster)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, namespaceTime, fmt.Errorf("namespace %s is not gone after %v", name, namespaceTime))
	defer cancel()
	if err := core.Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsConflict(err) {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// poll asks until the answer is true.
func poll(ctx context.Context, ask wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextCancel(ctx, interval, true, ask)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
