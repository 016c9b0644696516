package render

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources change the requests and limits of a member's containers. The zero value changes none.
type Resources struct{ changes []resourceChange }

type resourceChange struct {
	program  string // "" for both
	limit    bool
	name     corev1.ResourceName
	quantity string // "" removes the request or limit
}

// programs are the names of the programs in texts.
var programs = map[string]string{"agent": AgentName, "dns": DNSName}

// ParseResources parses texts like "limits.cpu=500m", "agent.requests.memory=256Mi" or "limits.memory=", which removes the
// limit.
func ParseResources(texts []string) (Resources, error) {
	var all Resources
	for _, text := range texts {
		wrong := func() (Resources, error) {
			return Resources{}, fmt.Errorf("%q does not have the form [agent.|dns.]requests|limits.RESOURCE=QUANTITY, for example limits.cpu=500m", text)
		}
		path, quantity, ok := strings.Cut(text, "=")
		if !ok {
			return wrong()
		}
		var c resourceChange
		if program, rest, found := strings.Cut(path, "."); found && programs[program] != "" {
			c.program, path = programs[program], rest
		}
		kind, name, _ := strings.Cut(path, ".")
		if kind != "requests" && kind != "limits" || name == "" {
			return wrong()
		}
		if quantity != "" {
			if q, err := resource.ParseQuantity(quantity); err != nil || q.Sign() < 0 {
				return Resources{}, fmt.Errorf("%q: %s is not a quantity, for example 500m or 256Mi", text, quantity)
			}
		}
		c.limit, c.name, c.quantity = kind == "limits", corev1.ResourceName(name), quantity
		all.changes = append(all.changes, c)
	}
	return all, all.validate()
}

// validate reports requests above limits, which the API server would refuse.
func (r Resources) validate() error {
	for _, container := range []struct {
		program string
		usual   corev1.ResourceRequirements
	}{{AgentName, agentResources()}, {DNSName, dnsResources()}} {
		have := r.apply(container.program, container.usual)
		for name, request := range have.Requests {
			if limit, ok := have.Limits[name]; ok && request.Cmp(limit) > 0 {
				return fmt.Errorf("%s would request %s %s, but its limit is %s: change both", container.program, request.String(), name, limit.String())
			}
		}
	}
	return nil
}

// apply returns a program's resources with the changes.
func (r Resources) apply(program string, have corev1.ResourceRequirements) corev1.ResourceRequirements {
	for _, c := range r.changes {
		list := have.Requests
		if c.limit {
			list = have.Limits
		}
		switch {
		case c.program != "" && c.program != program:
		case c.quantity == "":
			delete(list, c.name)
		default:
			list[c.name] = resource.MustParse(c.quantity)
		}
	}
	return have
}

func agentResources() corev1.ResourceRequirements { return resources("50m", "128Mi", "1Gi") }
func dnsResources() corev1.ResourceRequirements   { return resources("50m", "64Mi", "512Mi") }
