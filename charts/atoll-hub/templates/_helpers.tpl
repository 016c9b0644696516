{{/* The reference of the image .name. */}}
{{- define "atoll-hub.image" -}}
{{- $image := .root.Values.global.image -}}
{{- printf "%s/%s:%s" $image.registry .name ($image.tag | default .root.Chart.AppVersion) | quote -}}
{{- end }}

{{/* Whether the hub has load balancers to itself; empty for no. */}}
{{- define "atoll-hub.balances" -}}
{{- range .Values.args -}}
{{- if or (eq . "--lb-addresses") (hasPrefix "--lb-addresses=" .) }}true{{ end -}}
{{- end -}}
{{- end }}
