{{/* The reference of the image .name. */}}
{{- define "atoll-agent.image" -}}
{{- $image := .root.Values.global.image -}}
{{- printf "%s/%s:%s" $image.registry .name ($image.tag | default .root.Chart.AppVersion) | quote -}}
{{- end }}

{{/* The agent's arguments, as a list: those that atoll join gives it. */}}
{{- define "atoll-agent.args" -}}
{{- $args := list -}}
{{- with .Values.agent.region }}{{ $args = append $args (printf "--region=%s" .) }}{{ end -}}
{{- range .Values.agent.refuseImportsFrom }}{{ $args = append $args (printf "--refuse-imports-from=%s" .) }}{{ end -}}
{{- range .Values.agent.serviceCIDRs }}{{ $args = append $args (printf "--service-cidr=%s" .) }}{{ end -}}
{{- range .Values.agent.podCIDRs }}{{ $args = append $args (printf "--pod-cidr=%s" .) }}{{ end -}}
{{- if ne .Values.agent.advertiseMode "pods" }}{{ $args = append $args (printf "--advertise-mode=%s" .Values.agent.advertiseMode) }}{{ end -}}
{{- concat $args .Values.agent.args | toYaml -}}
{{- end }}

{{/* The membership: the data of the Secret that is there, what the join file says, the cluster's id and its clusterset. */}}
{{- define "atoll-agent.membership" -}}
{{- $have := (lookup "v1" "Secret" "atoll-system" "atoll-broker").data | default dict -}}
{{- $file := dict -}}
{{- with .Values.joinFile -}}
{{- $file = fromYaml . -}}
{{- if ne (toString $file.kind) "JoinFile" }}{{ fail "joinFile is not a join file. Create a join file with atoll broker token create CLUSTER --context CONTEXT_OF_BROKER, and pass the file with --set-file joinFile=FILE" }}{{ end -}}
{{- end -}}
{{- $id := .Values.clusterID | default $file.clusterID | default (index $have "cluster-id" | default "" | b64dec) -}}
{{- if not $id }}{{ fail "clusterID is missing: set clusterID, or pass a join file at the first installation (--set-file joinFile=FILE)" }}{{ end -}}
{{- if and $file.clusterID (ne $file.clusterID $id) }}{{ fail (printf "clusterID is %q, but the join file is for cluster %q" $id $file.clusterID) }}{{ end -}}
{{- $clusterset := $file.clusterset | default (index $have "clusterset" | default "" | b64dec) | default .Values.global.clusterset -}}
{{- dict "have" $have "file" $file "clusterID" $id "clusterset" $clusterset | toYaml -}}
{{- end }}
