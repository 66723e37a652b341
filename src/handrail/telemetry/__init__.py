"""OpenTelemetry spans and metrics of agents, model requests and calls; needs the extra `otel`."""
