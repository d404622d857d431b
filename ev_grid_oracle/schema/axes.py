"""The axes every array of the project is laid out along, and the two clocks.

One letter an axis; comments beside arrays quote it, for instance ``(E, S) int32 cars``.

======  =====================================================================
letter  meaning
======  =====================================================================
E       environments of one batch
S       stations of the city (`SP`: S padded to a multiple of 8, for the vector unit)
K       slots of the largest station
C       cars an environment can hold at once
F       11 kV feeders
D       bus positions of the longest feeder, in the order of the sweep
Z       zones (places where demand starts)
N       road nodes
L       directed road links
V       vehicle models
P       personas
T       ticks of an episode
R       reward terms
======  =====================================================================

A *tick* is `STEP_MINUTES` minutes and is the unit of `step()`; the physics is integrated in
`SUB_STEPS` sub-steps of one minute.
"""

from __future__ import annotations

STEP_MINUTES = 5
SUB_STEPS = 5
MINUTES_PER_DAY = 1440
TICKS_PER_DAY = MINUTES_PER_DAY // STEP_MINUTES
DEFAULT_TICKS = 48
MAX_TICKS = 2016
SETTLE_TICKS = 72
MAX_SEED = 2**32 - 1
