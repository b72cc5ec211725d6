{{- define "duet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "duet.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "duet.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "duet.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "duet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "duet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "duet.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "duet.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "duet.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "duet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "duet.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{- define "duet.secretName" -}}
{{ .Values.existingSecret | default (include "duet.fullname" .) }}
{{- end }}

{{- define "duet.configMapName" -}}
{{- if .Values.existingConfigMap -}}
{{ .Values.existingConfigMap }}
{{- else if .Values.config -}}
{{ include "duet.fullname" . }}
{{- end -}}
{{- end }}

{{- define "duet.claimName" -}}
{{ .Values.persistence.existingClaim | default (include "duet.fullname" .) }}
{{- end }}

{{- /* "true" where there can be more than one replica at a time. */ -}}
{{- define "duet.isMany" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) }}true{{ end -}}
{{- end }}

{{- define "duet.trustsProxy" -}}
{{- if kindIs "bool" .Values.trustProxy -}}
{{ .Values.trustProxy }}
{{- else -}}
{{ or .Values.ingress.enabled .Values.httpRoute.enabled }}
{{- end -}}
{{- end }}

{{- define "duet.gracePeriod" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{ add (int .Values.preStopSeconds) (int .Values.drainSeconds) 20 }}
{{- else -}}
{{ int .Values.terminationGracePeriodSeconds }}
{{- end -}}
{{- end }}

{{- /* What cannot work is refused before anything is installed, with what to do about it. */ -}}
{{- define "duet.check" -}}
{{- $ownSecrets := or .Values.secrets.secret .Values.secrets.adminToken .Values.secrets.bootstrapKey .Values.secrets.extra .Values.database.url -}}
{{- if and (include "duet.isMany" .) (not .Values.database.enabled) }}
{{- fail "more than one replica needs PostgreSQL: set database.enabled=true and database.url (or DUET_DATABASE_URL in existingSecret), or replicaCount=1 and autoscaling.enabled=false" }}
{{- end }}
{{- if and .Values.existingSecret $ownSecrets }}
{{- fail "existingSecret is set, so database.url and everything below secrets must be empty: put them into that Secret" }}
{{- end }}
{{- if and .Values.database.enabled (not .Values.existingSecret) }}
{{- if not .Values.database.url }}
{{- fail "database.enabled=true needs database.url, or existingSecret with an entry DUET_DATABASE_URL" }}
{{- end }}
{{- if not .Values.secrets.secret }}
{{- fail "PostgreSQL needs secrets.secret (DUET_SECRET), which all replicas share: openssl rand -hex 32" }}
{{- end }}
{{- if not .Values.secrets.adminToken }}
{{- fail "PostgreSQL needs secrets.adminToken (DUET_ADMIN_TOKEN), which all replicas share: openssl rand -hex 32" }}
{{- end }}
{{- end }}
{{- if and .Values.database.url (not .Values.database.enabled) }}
{{- fail "database.url is set, but database.enabled is false: say which one is meant" }}
{{- end }}
{{- if and .Values.migrate.job.enabled (not .Values.database.enabled) }}
{{- fail "migrate.job.enabled needs database.enabled=true: the embedded database is brought up to date by its one owner" }}
{{- end }}
{{- if and .Values.migrate.job.enabled (not .Values.existingSecret) }}
{{- fail "migrate.job.enabled needs existingSecret: the hook runs before a Secret of the chart exists" }}
{{- end }}
{{- if and .Values.config .Values.existingConfigMap }}
{{- fail "config and existingConfigMap cannot both be set" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: which Gateway it belongs to" }}
{{- end }}
{{- end }}
