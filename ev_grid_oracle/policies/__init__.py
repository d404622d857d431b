"""Who decides: rules, collapse policies, planners and language models, by name in `registry`."""
