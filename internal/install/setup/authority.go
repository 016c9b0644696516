package setup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install"
)

// rootCA is the ConfigMap with a cluster's certificate authority in every namespace.
const rootCA = "kube-root-ca.crt"

// authority returns the broker's certificate authority for members: this context's, or the cluster's own, or the
// system root that signed the broker's certificate. Members trust only the one that they get here.
func authority(ctx context.Context, on *install.Target, namespace string) ([]byte, error) {
	config := rest.CopyConfig(on.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("reading the broker's certificate authority: %w", err)
	}
	if len(config.CAData) > 0 {
		return config.CAData, nil
	}
	own := &corev1.ConfigMap{}
	pool := x509.NewCertPool()
	if err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: rootCA}, own); err == nil {
		ca := []byte(own.Data["ca.crt"])
		if pool.AppendCertsFromPEM(ca) {
			if _, err := signer(ctx, config.Host, pool); err == nil {
				return ca, nil
			}
		}
	}
	root, err := signer(ctx, config.Host, nil)
	if err != nil {
		return nil, hint("Set the broker's certificate authority with --ca-file FILE", "finding the certificate authority of the broker's certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}), nil
}

// signer returns the root certificate that a server's certificate chains to.
func signer(ctx context.Context, server string, roots *x509.CertPool) (*x509.Certificate, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	host := u.Host
	if u.Port() == "" {
		host += ":443"
	}
	conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	chains := conn.(*tls.Conn).ConnectionState().VerifiedChains
	if len(chains) == 0 || len(chains[0]) == 0 {
		return nil, fmt.Errorf("the server %s sent no certificate", server)
	}
	chain := chains[0]
	return chain[len(chain)-1], nil
}
