"""``server.app:app``: the app of the package, and nothing else."""

from ev_grid_oracle.server.app import app, main

__all__ = ["app", "main"]

if __name__ == "__main__":
    main()
