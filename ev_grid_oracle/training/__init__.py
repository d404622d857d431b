"""Make a dispatcher better: data from the planner, warm start, GRPO, export of the small oracle."""
