package gather

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted takes the place of what is nobody else's business.
const redacted = "REDACTED"

// word is one that names of secrets have in them.
const word = `(?:password|passwd|passphrase|secret[-_]?key|access[-_]?key|api[-_]?key|client[-_]?secret|credentials?|[-_]token|\btoken)`

// secrets are what gives access, in whatever text: tokens, private keys, and what is called a password.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// JSON Web Tokens (RFC 7519), which tokens of service accounts are: three parts in base64url, of which the
	// first two are JSON objects. Cut short by the end of a log line, one is still worth hiding.
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){0,2}`), redacted},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), redacted},
	// The same as a value of a Secret or a kubeconfig, in base64: "eyJ" is ZXlK, "-----BEGIN" is LS0tLS1CRUdJTi, of
	// which certificates are let through by nobody's need.
	{regexp.MustCompile(`ZXlK[A-Za-z0-9+/=]{16,}`), redacted},
	{regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]{16,}`), redacted},
	{regexp.MustCompile(`(?i)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`), "${1} " + redacted},
	// NAME: VALUE and NAME=VALUE, with quotes, those within quotes, or without; a YAML block; the next argument of a
	// command; and what a Corefile has after a word.
	{regexp.MustCompile(`(?i)((?:\\?["'])?[\w.-]*` + word + `[\w.-]*(?:\\?["'])?\s*[:=]\s*)(\\"(?:[^"\\\n])*\\"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[|>][-+\d]*\n(?:[ \t]+\S.*\n?)+|[^\s,}"'|>]+)`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)(--[\w-]*` + word + `[\w-]*["']?,?(?:\s*\n\s*-)?\s+)(\S+)`), "${1}" + redacted},
	{regexp.MustCompile(`(?im)^([ \t]*[\w.-]*` + word + `[\w.-]*[ \t]+)([^\s{:=].*)$`), "${1}" + redacted},
	{regexp.MustCompile(`(https?://)[^/\s:@"]+:[^/\s@"]+@`), "${1}" + redacted + "@"},
}

// Redact takes secrets out of a text.
func Redact(text []byte) []byte {
	for _, s := range secrets {
		text = s.pattern.ReplaceAll(text, []byte(s.with))
	}
	return text
}

// strip leaves out of an object what helps nobody, and what users may have put secrets in: values
// of environment variables, and what kubectl keeps of them.
func strip(o *unstructured.Unstructured) {
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	unstructured.RemoveNestedField(o.Object, "status", "images") // a node's
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
	_ = unstructured.SetNestedSlice(o.Object, versions, "spec", "versions") // they were there
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
	_ = unstructured.SetNestedSlice(o.Object, containers, path...) // they were there
}
