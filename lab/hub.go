package lab

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/render"
	"github.com/atoll-mcs/atoll/internal/setup"
)

// unitHub is the name of the hub's unit, beside the broker, which runs no pods.
const unitHub = "hub"

// installHub puts a hub beside the broker, as the commands of atoll do it, and starts it as a
// process, with the credentials that a pod would have.
func (l *Lab) installHub(ctx context.Context) error {
	target, err := l.target(Broker)
	if err != nil {
		return err
	}
	c, err := l.Spec.Cluster(Broker)
	if err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	webhook := ports[0].String()
	hub := render.Hub{Clusterset: broker.DefaultNamespace, NoWorkloads: true, WebhookURL: "https://" + webhook + "/"}
	if err := setup.DeployHub(ctx, target, hub); err != nil {
		return fmt.Errorf("deploying the hub: %w", err)
	}
	kubeconfig, err := l.accountKubeconfig(ctx, c, names.HubNamespace, names.HubAccount)
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig", filepath.Join(l.Dir(c.Name), "hub.conf"), "--webhook-bind-address", webhook,
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}
	u := l.atollUnit(c, unitHub, webhook, render.HubName, append(args, l.Spec.HubArgs...)...)
	u.Files = map[string]string{"hub.conf": string(kubeconfig)}
	u.Probe = "tcp://" + webhook
	return l.Run(ctx, u)
}
