package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error of the kubeconfig names the file and its contexts, and says what to set.
func TestExplain(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const clusters = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: []
contexts: [{name: c2, context: {cluster: c}}, {name: c1, context: {cluster: c}}]
`
	good, dangling := file("good", clusters), file("dangling", clusters+"current-context: old\n")
	empty, broken, absent := file("empty", ""), file("broken", "{"), filepath.Join(folder, "absent")
	const set = "set the environment variable KUBECONFIG, or add --kubeconfig FILE"
	for name, tt := range map[string]struct {
		env, flag, context string
		want               string
	}{
		"the variable names no file":   {absent, "", "", "reading the kubeconfig: file " + absent + " does not exist: " + set},
		"also with a context":          {absent, "", "c1", "reading the kubeconfig: file " + absent + " does not exist: " + set},
		"the flag names no file":       {good, absent, "", "reading the kubeconfig: file " + absent + " does not exist: " + set},
		"none of several files":        {absent + ":" + absent + "2", "", "", "reading the kubeconfig: files " + absent + ", " + absent + "2 do not exist: " + set},
		"an empty file":                {empty, "", "", "reading the kubeconfig: file " + empty + " has no contexts: " + set},
		"no such context":              {good, "", "c9", "reading the kubeconfig: context \"c9\" does not exist; contexts of " + good + ": c1, c2"},
		"one of two files is absent":   {good + ":" + absent, "", "c9", "does not exist; contexts of " + good + ": c1, c2"},
		"no current context":           {good, "", "", "reading the kubeconfig: file " + good + " has no current context: add --context NAME; contexts of " + good + ": c1, c2"},
		"the current one is not there": {dangling, "", "", "; contexts of " + dangling + ": c1, c2"},
		"a broken file":                {broken, "", "", "reading the kubeconfig: "},
	} {
		t.Setenv("KUBECONFIG", tt.env)
		c := Cluster{Kubeconfig: tt.flag, Context: tt.context}
		if _, err := c.Config(); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "KUBERNETES_MASTER") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
