"""The documented way to start the service from a checkout: ``python -m uvicorn server.app:app``."""
