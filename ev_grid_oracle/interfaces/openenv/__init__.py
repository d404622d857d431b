"""The OpenEnv interface: environment, rubrics, tasks, in-process client and harness over the one Session."""
