"""The HTTP layer: routes, requests, bodies, responses and uvicorn's connections."""
