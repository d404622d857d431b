"""Is B better than A: paired runs on equal worlds, their statistics and reports, and benchmarks."""
