// Package outpost runs the test pods of a command in a temporary namespace.
package outpost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/install"
)

const (
	// Label marks an outpost's namespace; its value is the command.
	Label = "atoll.dev/outpost"
	// annotationUntil is the time after which the next command deletes the namespace of a command that was killed.
	annotationUntil = "atoll.dev/until"
	// grace is added to a command's lifetime before its outpost counts as abandoned.
	grace = time.Minute
	// goneTime is how long to wait for the deletion of a namespace.
	goneTime = time.Minute
)

// Options configure an outpost.
type Options struct {
	// Command is the command's name, for example "check".
	Command string
	// Name is the namespace; empty means a result of NewName.
	Name string
	// Image is atoll-agent's image.
	Image string
	// Identity is the answer of its servers.
	Identity string
	// Lifetime limits the command's run time.
	Lifetime time.Duration
}

// Outpost is a namespace with pods.
type Outpost struct {
	Options
	kube kubernetes.Interface
}

// NewName returns a random name for a command's namespace.
func NewName(command string) string {
	return "atoll-" + command + "-" + strings.ToLower(rand.Text()[:8])
}

// Open creates the namespace, and deletes those left by commands that were killed. Even with an error, it returns an
// Outpost to be closed if the namespace may exist: an interrupted request has an unknown result.
func Open(ctx context.Context, config *rest.Config, o Options) (*Outpost, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if o.Name == "" {
		o.Name = NewName(o.Command)
	}
	post := &Outpost{Options: o, kube: kube}
	if err := post.sweep(ctx); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: o.Name, Labels: map[string]string{Label: o.Command, "pod-security.kubernetes.io/enforce": "restricted"},
		Annotations: map[string]string{annotationUntil: time.Now().Add(o.Lifetime + grace).UTC().Format(time.RFC3339)},
	}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		if refused(err) {
			post = nil
		}
		return post, fmt.Errorf("creating namespace %s: %w", o.Name, err)
	}
	return post, nil
}

// refused reports whether the API server certainly did not create the object.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTooManyRequests(err)
}

// sweep deletes the namespaces of commands that ended without cleaning up.
func (p *Outpost) sweep(ctx context.Context) error {
	left, err := p.kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	for _, n := range left.Items {
		until, err := time.Parse(time.RFC3339, n.Annotations[annotationUntil])
		if err != nil || time.Now().Before(until) || n.DeletionTimestamp != nil {
			continue
		}
		if err := p.delete(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

func (p *Outpost) delete(ctx context.Context, name string) error {
	if err := p.kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return nil
}

// Close deletes the namespace. It ignores the cancellation of ctx, because an interrupted command must clean up, too.
func (p *Outpost) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goneTime)
	defer cancel()
	return p.delete(ctx, p.Name)
}

// ByHand returns the command that deletes a namespace. context is a kubeconfig context, or "" for the current one.
func ByHand(context, namespace string) string {
	command := "kubectl"
	if context != "" {
		command += " --context " + context
	}
	return command + " delete namespace " + namespace
}

// AwaitGone waits until the namespace is gone.
func (p *Outpost) AwaitGone(ctx context.Context) error {
	return install.Wait(context.WithoutCancel(ctx), goneTime, func(ctx context.Context) error {
		_, err := p.kube.CoreV1().Namespaces().Get(ctx, p.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("namespace %s is being deleted, but still exists after %v", p.Name, goneTime), err)
	})
}
