package lab

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// validity is the lifetime of a lab's certificates, longer than any lab's.
const validity = 10 * 365 * 24 * time.Hour

type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// keyPair is a PEM-encoded certificate and key.
type keyPair struct{ cert, key []byte }

func newAuthority(name string) (*authority, keyPair, error) {
	a := &authority{cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}}
	pair, err := a.sign(a.cert)
	if err != nil {
		return nil, keyPair{}, err
	}
	a, err = parseAuthority(pair)
	return a, pair, err
}

func parseAuthority(p keyPair) (*authority, error) {
	block, _ := pem.Decode(p.cert)
	if block == nil {
		return nil, fmt.Errorf("reading the certificate authority's certificate: the file contains no PEM block")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority's certificate: %w", err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(p.key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority's key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("reading the certificate authority's key: a key of type %T cannot sign", key)
	}
	return &authority{cert, signer}, nil
}

// sign completes a certificate, creates its key and signs it. A new authority signs its own.
func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("creating a key: %w", err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, fmt.Errorf("creating a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // clocks may differ
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("signing a certificate: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encoding a key: %w", err)
	}
	return keyPair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM}, nil
}

// server returns a certificate for a server with those names and addresses.
func (a *authority) server(name string, names []string, addrs []netip.Addr) (keyPair, error) {
	ips := make([]net.IP, len(addrs))
	for i, addr := range addrs {
		ips[i] = addr.AsSlice()
	}
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: names, IPAddresses: ips,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client returns a client certificate for a user and its groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// apiServerNames are the names that pods and people use for an API server.
var apiServerNames = []string{
	"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain,
}

// makePKI writes a cluster's certificates, keys and its programs' kubeconfigs.
func (l *Lab) makePKI(c *Cluster) error {
	ca, caPair, err := newAuthority("atoll-lab-" + l.Name() + "-" + c.Name)
	if err != nil {
		return err
	}
	nodeAddrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	for _, n := range c.Nodes {
		nodeAddrs = append(nodeAddrs, n.Addresses...)
	}
	server, err := ca.server("kube-apiserver", apiServerNames, append(firstAddrs(c.ServiceCIDRs), nodeAddrs...))
	if err != nil {
		return err
	}
	kubelet, err := ca.server("kubelet", nil, nodeAddrs)
	if err != nil {
		return err
	}
	kubeletClient, err := ca.client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	serviceAccounts, err := ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "service-accounts"}})
	if err != nil {
		return err
	}
	for name, pair := range map[string]keyPair{
		"ca": caPair, "apiserver": server, "kubelet": kubelet, "kubelet-client": kubeletClient, "service-accounts": serviceAccounts,
	} {
		if err := writeFile(l.pki(c, name+".crt"), pair.cert, 0o600); err != nil {
			return err
		}
		if err := writeFile(l.pki(c, name+".key"), pair.key, 0o600); err != nil {
			return err
		}
	}
	return l.writeKubeconfigs(c)
}

// pki is the path of a cluster's certificate or key.
func (l *Lab) pki(c *Cluster, name string) string {
	return filepath.Join(l.Dir(c.Name), "pki", name)
}

func (l *Lab) authority(c *Cluster) (*authority, error) {
	cert, err := os.ReadFile(l.pki(c, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority of %s: %w", c.Name, err)
	}
	key, err := os.ReadFile(l.pki(c, "ca.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority of %s: %w", c.Name, err)
	}
	return parseAuthority(keyPair{cert, key})
}
