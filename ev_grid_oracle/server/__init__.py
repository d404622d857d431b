"""The service: ``uvicorn ev_grid_oracle.server.app:app``."""
