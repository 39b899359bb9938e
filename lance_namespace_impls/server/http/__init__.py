"""HTTP in and out: routes, requests, bodies, responses and uvicorn's connections."""
