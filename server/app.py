"""``server.app:app``: the app of the package, and nothing else."""

from ev_grid_oracle.server.app import app
from ev_grid_oracle.server.app import main as serve

__all__ = ["app", "main"]


def main() -> None:
    """Run the server on port 8000, or where ``PORT`` points."""
    serve()


if __name__ == "__main__":
    main()
