"""Is a network a tree fed from its source? Counting lines is not enough: loops and islands are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def radial_faults(
    buses: Sequence[str], lines: Iterable[tuple[str, str]], source: str
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Loops and islands of an undirected network.

    "Lines = buses - 1" lets a loop plus an island through; this walks the network instead.

    Returns:
        (loops, islands): each loop as its buses from the first met around to the last; each island
        as its buses, where an island is a component without `source` that has no loop (a loop that is
        cut off is reported as a loop).
    """
    adjacent: dict[str, list[tuple[int, str]]] = {b: [] for b in buses}
    for k, (a, b) in enumerate(lines):
        adjacent[a].append((k, b))
        adjacent[b].append((k, a))
    loops: list[tuple[str, ...]] = []
    islands: list[tuple[str, ...]] = []
    seen: dict[str, str] = {}  # bus -> the bus it was reached from
    for start in (source, *buses):
        if start in seen:
            continue
        found = len(loops)
        component = _walk(start, adjacent, seen, loops)
        if start != source and len(loops) == found:
            islands.append(tuple(component))
    return loops, islands


def _walk(
    start: str, adjacent: dict[str, list[tuple[int, str]]], seen: dict[str, str], loops: list[tuple[str, ...]]
) -> list[str]:
    """Depth-first over one component; a line that meets a seen bus closes a loop."""
    seen[start] = ""
    order = [start]
    used: set[int] = set()
    stack = [start]
    while stack:
        here = stack.pop()
        for k, other in adjacent[here]:
            if k in used:
                continue
            used.add(k)
            if other in seen:
                loops.append(_loop(here, other, seen))
            else:
                seen[other] = here
                order.append(other)
                stack.append(other)
    return order


def _loop(a: str, b: str, seen: dict[str, str]) -> tuple[str, ...]:
    """The buses between `a` and `b` along the walk's tree, that is the loop the line a-b closes."""
    up = [a]
    while seen[up[-1]]:
        up.append(seen[up[-1]])
    down = [b]
    while down[-1] not in up:
        down.append(seen[down[-1]])
    top = down[-1]
    return tuple(sorted({*up[: up.index(top) + 1], *down}))
