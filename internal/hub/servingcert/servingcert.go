// Package servingcert makes and judges the certificate with which a webhook is served: one that
// signs itself, so that it is its own authority, and is replaced long before it ends.
package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// Lifetime is how long a certificate is good for.
	Lifetime = 90 * 24 * time.Hour
	// renewBefore is how long before its end it is replaced.
	renewBefore = 30 * 24 * time.Hour
	// backdate forgives an API server whose clock is behind.
	backdate = time.Hour
)

// Pair is a certificate with its key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// New makes a certificate for a host, from now on.
func New(host string, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("making a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "atoll-hub"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(Lifetime),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encoding the key: %w", err)
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	}, nil
}

// Load parses the pair.
func (p Pair) Load() (*tls.Certificate, error) {
	loaded, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &loaded, nil
}

// Good returns for how long the pair may go on being used for a host, 0 if not at all.
func (p Pair) Good(host string, now time.Time) time.Duration {
	loaded, err := p.Load()
	if err != nil || loaded.Leaf == nil || loaded.Leaf.VerifyHostname(host) != nil || now.Before(loaded.Leaf.NotBefore) {
		return 0
	}
	return max(0, loaded.Leaf.NotAfter.Add(-renewBefore).Sub(now))
}

// Bundle is what clients should trust: the current certificate first, and of what they trusted
// before the newest other one, which may be served for a moment yet.
func Bundle(current, trusted []byte) []byte {
	for rest := trusted; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return current
		}
		if other := pem.EncodeToMemory(block); block.Type == "CERTIFICATE" && !bytes.Equal(other, current) {
			return append(bytes.Clone(current), other...)
		}
	}
}
