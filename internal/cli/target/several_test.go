package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// TestUnusableContext: with --all, one broken context says what is wrong with it when it is used, and the others work.
func TestUnusableContext(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config,
clusters: [{name: good, cluster: {server: "https://127.0.0.1:1"}}, {name: bad, cluster: {server: "https://127.0.0.1:1", certificate-authority: /no/such/file}}],
users: [], contexts: [{name: bad, context: {cluster: bad}}, {name: good, context: {cluster: good}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Scoped{Cluster: Cluster{Kubeconfig: file}}
	if _, err := s.Configs([]string{"good", "bad"}); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("a context that was named: %v", err)
	}
	s.everywhere = true
	all, err := s.Configs(nil)
	if err != nil || len(all) != 2 || all[0].Context != "bad" || all[1].Config.Host != "https://127.0.0.1:1" {
		t.Fatalf("%v, %v", all, err)
	}
	kube, err := kubernetes.NewForConfig(all[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Discovery().ServerVersion(); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("a request: %v", err)
	}
}
