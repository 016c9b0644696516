package podspec

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ServiceEnv returns the variables that tell a container of services, in the
// two forms that Kubernetes knows: WEB_SERVICE_HOST, and Docker's old WEB_PORT
// with all that goes with it. Services without an address of their own are
// left out.
func ServiceEnv(services []*corev1.Service) map[string]string {
	env := map[string]string{}
	for _, s := range services {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || len(s.Spec.Ports) == 0 {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
		host := s.Spec.ClusterIP
		env[name+"_SERVICE_HOST"] = host
		env[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
		for i, p := range s.Spec.Ports {
			number, protocol := strconv.Itoa(int(p.Port)), string(p.Protocol)
			if protocol == "" {
				protocol = string(corev1.ProtocolTCP)
			}
			if p.Name != "" {
				env[name+"_SERVICE_PORT_"+strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))] = number
			}
			url := fmt.Sprintf("%s://%s", strings.ToLower(protocol), net.JoinHostPort(host, number))
			if i == 0 {
				env[name+"_PORT"] = url
			}
			prefix := name + "_PORT_" + number + "_" + strings.ToUpper(protocol)
			env[prefix] = url
			env[prefix+"_PROTO"] = strings.ToLower(protocol)
			env[prefix+"_PORT"] = number
			env[prefix+"_ADDR"] = host
		}
	}
	return env
}
