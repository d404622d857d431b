"""Dispatch rules that are needed inside a step (warm-up, settle, truth of a prediction, rollouts).

They read an observation row and the city, never the world.
"""
