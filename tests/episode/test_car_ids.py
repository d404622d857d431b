"""Ids of cars go there and back, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from ev_grid_oracle.episode.ids import NOBODY, car_id, car_seq, walkin_id


@pytest.mark.parametrize(
    ("seq", "name"),
    [(0, "EV-0001"), (41, "EV-0042"), (9999, "EV-10000"), (-1_000_000, "EV-W001"), (-999_901, "EV-W100")],
)
def test_there_and_back(seq: int, name: str) -> None:
    assert car_id(seq) == name and car_seq(name) == seq


def test_all_kinds_are_apart() -> None:
    seqs = [*range(0, 3000, 7), *range(-1_000_000, -999_000, 7), *range(-400, 0)]
    names = [car_id(s) for s in seqs]
    assert len(set(names)) == len(seqs) and [car_seq(n) for n in names] == seqs
    assert not {walkin_id(s) for s in seqs} & set(names)


OTHERS = (
    "", "EV-", "EV-0000", "EV-001", "EV-00001", "ev-0001", "EV-W1", "EV-0001 ", "EV-x", "WK-0001",
    "EV-９９９９", "EV-0001\n", "EV-99999999999",
)  # fmt: skip


@pytest.mark.parametrize("text", OTHERS, ids=[str(n) for n in range(len(OTHERS))])
def test_other_texts_name_nobody(text: str) -> None:
    assert car_seq(text) == NOBODY
