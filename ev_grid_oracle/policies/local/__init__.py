"""Compiled kernels of the planner: sampled futures of one station and of one feeder, from an observation row."""
