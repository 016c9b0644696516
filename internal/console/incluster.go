package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// InCluster are the options of atoll-console, which serves Viewers in a pod.
type InCluster struct {
	listen, ca, broker, brokerCA string
	hosts                        []string
}

// AddFlags adds the flags.
func (o *InCluster) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.listen, "listen", ":8080", "address to serve at")
	flags.StringArrayVar(&o.hosts, "host", nil, "host at which browsers open the console, with the port unless it is the usual one; may be repeated")
	flags.StringVar(&o.ca, "certificate-authority", "/etc/atoll-console/ca.crt", "file with the certificate authority of the cluster's API server")
	flags.StringVar(&o.broker, "broker-server", "", "URL of the broker, if viewers' tokens are valid there; without it, only viewers who may read the cluster's credentials for the broker see its records")
	flags.StringVar(&o.brokerCA, "broker-certificate-authority", "", "file with the broker's certificate authority")
}

// Run serves until life ends.
func (o *InCluster) Run(life context.Context) error {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return errors.New("this program runs in a pod: outside, use atoll console")
	}
	if len(o.hosts) == 0 {
		return errors.New("--host is missing: set --host to the host name at which browsers open the console. The console refuses requests for all other hosts")
	}
	viewers := &Viewers{Hosts: o.hosts, Cluster: &rest.Config{
		Host: "https://" + net.JoinHostPort(host, port), TLSClientConfig: rest.TLSClientConfig{CAFile: o.ca},
	}}
	if o.broker != "" {
		viewers.Broker = &rest.Config{Host: o.broker, TLSClientConfig: rest.TLSClientConfig{CAFile: o.brokerCA}}
	}
	server := NewHTTPServer(viewers.Handler(life))
	server.Addr = o.listen
	context.AfterFunc(life, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
