package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Placeholders, for what a value says.
const (
	placeholder  = "clusterset-of-the-values"
	registry     = "registry-of-the-values"
	tag          = "tag-of-the-values"
	arguments    = "--arguments-of-the-values"
	haproxyImage = "haproxy-of-the-values"
	nodeName     = "fieldPath: spec.nodeName\n"
	replicas     = 987654
)

const clusterset = "{{ .Values.global.clusterset }}"

// The actions for arguments. They stand in a container, at its indentation.
const (
	agentArguments = `        {{- with include "atoll-agent.args" . | fromYamlArray }}
        args:
        {{- toYaml . | nindent 8 }}
        {{- end }}
`
	// agentEnvironment follows the variable that the agent always has.
	agentEnvironment = `        {{- with .Values.agent.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
`
	hubArguments = `        args:
        - --clusterset=` + clusterset + `
        {{- if include "atoll-hub.balances" . }}
        - --node-addresses=$(NODE_IPS)
        - --metrics-bind-address=[$(POD_IP)]:8080
        - --health-probe-bind-address=[$(POD_IP)]:8081
        {{- end }}
        {{- if .Values.haproxyImage }}
        - --lb-option=haproxy.dir=/run/atoll
        {{- end }}
        {{- with .Values.args }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
`
)

// wholeValue is a placeholder that is all of a value, which needs quotes: the name of a namespace may look like a number.
var wholeValue = regexp.MustCompile(`(?m)^(\s*(?:- )*(?:[-\w./]+: )?)` + placeholder + `$`)

// fill puts actions in the place of placeholders that any object may have.
func fill(text string) string {
	text = wholeValue.ReplaceAllString(text, `${1}"`+strings.ReplaceAll(clusterset, "$", "$$")+`"`)
	text = strings.ReplaceAll(text, placeholder, clusterset)
	text = strings.ReplaceAll(text, nodeName, nodeName+agentEnvironment)
	text = strings.ReplaceAll(text, haproxyImage, "{{ .Values.haproxyImage | quote }}")
	return strings.ReplaceAll(text, "  namespaces: '*'\n", `  namespaces: {{ eq .Values.defaultExports "allow" | ternary "*" "" | quote }}`+"\n")
}

var image = regexp.MustCompile(`image: ` + registry + `/([-a-z]+):` + tag + `\n`)

// deployment puts in what is chosen of a program's Deployment.
func (c chart) deployment(name, text string, chosen bool) (string, error) {
	values := c.values[name]
	for _, edit := range []struct{ what, with string }{
		{"  replicas: " + strconv.Itoa(replicas) + "\n", "  replicas: {{ " + values + ".replicas }}\n"},
		{"    metadata:\n", "    metadata:\n" + optional(values+".podAnnotations", "annotations", 6)},
		{"    spec:\n", "    spec:\n" + optional(".Values.global.image.pullSecrets", "imagePullSecrets", 6) +
			optional(values+".nodeSelector", "nodeSelector", 6) + optional(values+".tolerations", "tolerations", 6)},
	} {
		if strings.Count("\n"+text, "\n"+edit.what) != 1 {
			return "", fmt.Errorf("the Deployment must contain %q exactly once", edit.what)
		}
		text = strings.Replace("\n"+text, "\n"+edit.what, "\n"+edit.with, 1)[1:]
	}
	found := image.FindStringIndex(text)
	if found == nil {
		return "", fmt.Errorf("the Deployment has no image from the registry")
	}
	with := fmt.Sprintf("image: {{ include %q (dict \"name\" %q \"root\" .) }}\n", c.name+".image", name)
	if chosen {
		with += c.arguments[name]
	}
	return resources(text[:found[0]]+with+text[found[1]:], values)
}

// optional is a field that is there if a value is.
func optional(value, field string, indent int) string {
	space := strings.Repeat(" ", indent)
	return fmt.Sprintf("%[1]s{{- with %[2]s }}\n%[1]s%[3]s:\n%[1]s{{- toYaml . | nindent %[4]d }}\n%[1]s{{- end }}\n", space, value, field, indent+2)
}

var resourcesBlock = regexp.MustCompile(`(?m)^        resources:\n(?:          .*\n)+`)

// resources lets a value stand for what a container asks for.
func resources(text, values string) (string, error) {
	found := resourcesBlock.FindStringIndex(text)
	if found == nil {
		return "", fmt.Errorf("the Deployment's container has no resource requests")
	}
	block := text[found[0]:found[1]]
	_, usual, _ := strings.Cut(block, "\n")
	return text[:found[0]] + "        resources:\n          {{- with " + values + ".resources }}\n          {{- toYaml . | nindent 10 }}\n          {{- else }}\n" +
		usual + "          {{- end }}\n" + text[found[1]:], nil
}
