package lab

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestPKI verifies a cluster's certificates as its clients and servers will.
func TestPKI(t *testing.T) {
	l := testLab(t, Shape{Name: "x", Clusters: 2, Nodes: 2, IPFamily: Dual})
	for i := range l.Spec.Clusters {
		if err := l.makePKI(&l.Spec.Clusters[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.writeMergedKubeconfig(); err != nil {
		t.Fatal(err)
	}
	c1 := &l.Spec.Clusters[0]
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t, readFile(t, l.pki(c1, "ca.crt"))))
	server := certificate(t, readFile(t, l.pki(c1, "apiserver.crt")))
	for _, name := range []string{"127.0.0.1", "::1", "172.30.1.1", "fd00:172:30::1:1", "10.101.0.1", "fd00:20:1::1", "localhost", "kubernetes.default.svc.cluster.local"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("API server as %s: %v", name, err)
		}
	}
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: "172.30.2.1"}); err == nil {
		t.Error("the certificate is valid for another cluster's API server")
	}
	kubelet := certificate(t, readFile(t, l.pki(c1, "kubelet.crt")))
	if _, err := kubelet.Verify(x509.VerifyOptions{Roots: roots, DNSName: "172.30.1.2"}); err != nil {
		t.Errorf("kubelet of the second node: %v", err)
	}

	config, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	admin := certificate(t, config.AuthInfos["c1"].ClientCertificateData)
	if _, err := admin.Verify(client); err != nil || admin.Subject.Organization[0] != "system:masters" {
		t.Errorf("administrator %s: %v", admin.Subject, err)
	}
	if _, err := certificate(t, config.AuthInfos["c2"].ClientCertificateData).Verify(client); err == nil {
		t.Error("c1 lets c2's administrator in")
	}
	if got, want := config.Clusters["broker"].Server, "https://"+l.Spec.Clusters[2].Loopback.String(); got != want {
		t.Errorf("broker at %s, want %s", got, want)
	}

	data, err := l.UserKubeconfig("c1", "somebody", "group")
	if err != nil {
		t.Fatal(err)
	}
	user, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	cert := certificate(t, user.AuthInfos["c1"].ClientCertificateData)
	if cert.Subject.CommonName != "somebody" || cert.Subject.Organization[0] != "group" || user.Clusters["c1"].Server != "https://172.30.1.1:6443" {
		t.Errorf("%s at %s", cert.Subject, user.Clusters["c1"].Server)
	}
	if info, err := os.Stat(l.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users can read the kubeconfig: %v %v", info.Mode(), err)
	}
}

func certificate(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("no PEM block")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
