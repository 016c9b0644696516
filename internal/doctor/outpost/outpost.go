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
	// Label is on an outpost's namespace, with the command as its value.
	Label = "atoll.dev/outpost"
	// annotationUntil says when nobody can be using an outpost any more: a command that was killed
	// leaves it behind, and the next one takes it away.
	annotationUntil = "atoll.dev/until"
	// grace is how much longer than it said a command may be at it.
	grace = time.Minute
	// goneTime is how long a namespace's end is waited for.
	goneTime = time.Minute
)

// Options say what an outpost is for.
type Options struct {
	// Command is the command's name, as "check".
	Command string
	// Name is the namespace's; empty means one of NewName.
	Name string
	// Image is that of atoll-agent.
	Image string
	// Identity is what its servers call themselves.
	Identity string
	// Lifetime is how long the command takes at most.
	Lifetime time.Duration
}

// Outpost is a namespace with pods.
type Outpost struct {
	Options
	kube kubernetes.Interface
}

// NewName is the name of a namespace of a command's that nobody else has.
func NewName(command string) string {
	return "atoll-" + command + "-" + strings.ToLower(rand.Text()[:8])
}

// Open makes the namespace, and takes away what was left behind by commands that were killed. There is an outpost, to be
// closed, beside an error too where the namespace may have been made: whoever is interrupted while it is gets no answer.
func Open(ctx context.Context, config *rest.Config, o Options) (*Outpost, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
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
		return post, fmt.Errorf("making namespace %s: %w", o.Name, err)
	}
	return post, nil
}

// refused tells whether the API server has said that it has not made something.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTooManyRequests(err)
}

// sweep deletes namespaces of commands that have ended without doing so.
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

// Close deletes the namespace with all that is in it. It is done although ctx is: whoever
// interrupts a command wants it to leave nothing.
func (p *Outpost) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goneTime)
	defer cancel()
	return p.delete(ctx, p.Name)
}

// ByHand is the command that does what Close does to a namespace, in a context of a kubeconfig, "" for the current one.
func ByHand(context, namespace string) string {
	command := "kubectl"
	if context != "" {
		command += " --context " + context
	}
	return command + " delete namespace " + namespace
}

// AwaitGone waits until the namespace is not there any more.
func (p *Outpost) AwaitGone(ctx context.Context) error {
	return install.Wait(context.WithoutCancel(ctx), goneTime, func(ctx context.Context) error {
		_, err := p.kube.CoreV1().Namespaces().Get(ctx, p.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("namespace %s is being deleted, and is still there after %v", p.Name, goneTime), err)
	})
}
