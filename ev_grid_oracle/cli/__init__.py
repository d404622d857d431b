"""`evgrid`: one module per group of commands; whatever is heavy is imported when a command runs."""
