"""Models behind an HTTP server that speaks OpenAI's completions, each an ordinary `TargetModel`.

Nothing is imported here, as in `auditlib.models`. `connecting.connect(EndpointRequest(...), settings())` gives a model
that has passed every check of `auditlib.models.conformance`.
"""
