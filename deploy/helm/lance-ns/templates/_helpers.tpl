{{- define "lance-ns.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "lance-ns.fullname" -}}
{{- $name := include "lance-ns.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "lance-ns.selector" -}}
app.kubernetes.io/name: {{ include "lance-ns.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lance-ns.labels" -}}
{{ include "lance-ns.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "lance-ns.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "lance-ns.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* Fails if the server would not start, or would be open by accident. */}}
{{- define "lance-ns.checkAuthentication" -}}
{{- $methods := or .Values.auth.tokens.secretName .Values.auth.oidc.issuer }}
{{- if not (or $methods .Values.auth.insecure) }}
{{- fail "set auth.tokens.secretName or auth.oidc.issuer; auth.insecure=true allows every client full access" }}
{{- end }}
{{- if and $methods .Values.auth.insecure }}
{{- fail "auth.insecure=true contradicts auth.tokens.secretName and auth.oidc.issuer: unset one of them" }}
{{- end }}
{{- if and .Values.policy .Values.auth.insecure }}
{{- fail "policy requires authentication: unset auth.insecure, or unset policy" }}
{{- end }}
{{- end }}

{{- /*
Lines of the configuration file. Values are strings, as on the command line, because Helm parses all
numbers as floating point.
*/}}
{{- define "lance-ns.properties" -}}
{{- range $key, $value := .properties }}
{{- $name := printf "%s%s" $.prefix $key }}
{{- if kindIs "map" $value }}
{{- include "lance-ns.properties" (dict "prefix" (printf "%s." $name) "properties" $value) }}
{{- else if and (kindIs "float64" $value) (eq $value (floor $value)) }}
{{ $name | quote }} = {{ $value | int64 | toString | quote }}
{{- else }}
{{ $name | quote }} = {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}
