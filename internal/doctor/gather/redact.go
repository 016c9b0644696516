package gather

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted replaces secrets.
const redacted = "REDACTED"

// word matches names that suggest a secret.
const word = `(?:password|passwd|passphrase|secret[-_]?key|access[-_]?key|api[-_]?key|client[-_]?secret|credentials?|[-_]token|\btoken)`

// secrets match credentials in any text: tokens, private keys, and values with a name that suggests a secret.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// JSON Web Tokens (RFC 7519), such as ServiceAccount tokens: three base64url parts, the first two JSON objects. A
	// log line may cut a token short, so one part is enough.
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){0,2}`), redacted},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), redacted},
	// The same in base64, as in a Secret or kubeconfig: "eyJ" becomes ZXlK, "-----BEGIN" becomes LS0tLS1CRUdJTi. This
	// also hides certificates, which no report needs.
	{regexp.MustCompile(`ZXlK[A-Za-z0-9+/=]{16,}`), redacted},
	{regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]{16,}`), redacted},
	{regexp.MustCompile(`(?i)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`), "${1} " + redacted},
	// NAME: VALUE and NAME=VALUE with any quoting, YAML blocks, the next argument of a command, and the rest of a
	// Corefile line.
	{regexp.MustCompile(`(?i)((?:\\?["'])?[\w.-]*` + word + `[\w.-]*(?:\\?["'])?\s*[:=]\s*)(\\"(?:[^"\\\n])*\\"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[|>][-+\d]*\n(?:[ \t]+\S.*\n?)+|[^\s,}"'|>]+)`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)(--[\w-]*` + word + `[\w-]*["']?,?(?:\s*\n\s*-)?\s+)(\S+)`), "${1}" + redacted},
	{regexp.MustCompile(`(?im)^([ \t]*[\w.-]*` + word + `[\w.-]*[ \t]+)([^\s{:=].*)$`), "${1}" + redacted},
	{regexp.MustCompile(`(https?://)[^/\s:@"]+:[^/\s@"]+@`), "${1}" + redacted + "@"},
}

// Redact replaces the secrets in a text.
func Redact(text []byte) []byte {
	for _, s := range secrets {
		text = s.pattern.ReplaceAll(text, []byte(s.with))
	}
	return text
}

// strip removes fields that are useless in a report or may contain users' secrets: values of environment variables,
// and kubectl's copy of them.
func strip(o *unstructured.Unstructured) {
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	unstructured.RemoveNestedField(o.Object, "status", "images") // of a Node
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
			stripContainers(o, append(append([]string{}, path...), list)...)
		}
	}
	versions, found, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	if !found || o.GetKind() != "CustomResourceDefinition" {
		return
	}
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			delete(version, "schema")
		}
	}
	_ = unstructured.SetNestedSlice(o.Object, versions, "spec", "versions") // cannot fail: the field was read from the object
}

func stripContainers(o *unstructured.Unstructured, path ...string) {
	containers, found, _ := unstructured.NestedSlice(o.Object, path...)
	if !found {
		return
	}
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			continue
		}
		env, _, _ := unstructured.NestedSlice(container, "env")
		for _, e := range env {
			if variable, ok := e.(map[string]any); ok && variable["value"] != nil {
				variable["value"] = redacted
			}
		}
		if len(env) > 0 {
			container["env"] = env
		}
	}
	_ = unstructured.SetNestedSlice(o.Object, containers, path...) // cannot fail: the field was read from the object
}
