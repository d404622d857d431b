"""Tariff zones that touch midnight, and the city's clock."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.tables import minutes
from ev_grid_oracle.city.tariff import TariffZone, cover_faults, factor_by_slot, tariff_cost_inr

NIGHT_AND_DAY = (TariffZone(22 * 60, 6 * 60, 6.0), TariffZone(6 * 60, 22 * 60, 9.0))


@pytest.mark.parametrize(
    ("start", "end", "inr"),
    [
        ("23:30", "00:30", 42.00),
        ("21:30", "22:30", 52.50),
        ("23:00", "24:00", 42.00),
        ("00:00", "01:00", 42.00),
        ("05:30", "06:30", 52.50),
        ("12:00", "12:00", 0.00),
    ],
)
def test_sessions_at_the_edges(start: str, end: str, inr: float) -> None:
    assert tariff_cost_inr(NIGHT_AND_DAY, minutes(start), minutes(end), 7.0) == pytest.approx(inr, abs=1e-9)


def test_a_whole_day_and_two() -> None:
    day = 8 * 6.0 + 16 * 9.0
    assert tariff_cost_inr(NIGHT_AND_DAY, 0, 1440, 1.0) == pytest.approx(day)
    assert tariff_cost_inr(NIGHT_AND_DAY, 600, 600 + 2880, 1.0) == pytest.approx(2 * day)


def test_a_zone_may_end_at_midnight_in_both_spellings() -> None:
    for end in ("00:00", "24:00"):
        zones = (TariffZone(minutes("22:00"), minutes(end), 2.0), TariffZone(0, minutes("22:00"), 1.0))
        assert cover_faults(zones) == []
        assert factor_by_slot(zones, 24) == [1.0] * 22 + [2.0] * 2


def test_one_zone_can_be_the_whole_day() -> None:
    assert cover_faults((TariffZone(0, 0, 1.0),)) == []
    assert cover_faults((TariffZone(0, 1440, 1.0),)) == []


def test_gaps_and_overlaps_are_found_at_their_minute() -> None:
    assert cover_faults((TariffZone(0, 600, 1.0), TariffZone(660, 1440, 1.0))) == [(600, 0)]
    assert cover_faults((TariffZone(0, 700, 1.0), TariffZone(660, 1440, 1.0))) == [(660, 2)]


@given(st.integers(0, 1439), st.integers(0, 2000), st.integers(0, 2000))
def test_cost_adds_up(start: int, a: int, b: int) -> None:
    """A session cut in two costs as much as the whole."""
    whole = tariff_cost_inr(NIGHT_AND_DAY, start, start + a + b, 7.0)
    parts = tariff_cost_inr(NIGHT_AND_DAY, start, start + a, 7.0)
    parts += tariff_cost_inr(NIGHT_AND_DAY, start + a, start + a + b, 7.0)
    assert parts == pytest.approx(whole)


def test_bengaluru_factor_by_hour() -> None:
    factor = load_city("bengaluru").profiles.tariff_factor
    want = {0: 0.9, 5: 0.9, 6: 1.0, 8: 1.0, 9: 0.85, 16: 0.85, 17: 1.0, 18: 1.2, 21: 1.2, 22: 0.9, 23: 0.9}
    for hour, x in want.items():
        assert set(factor[hour * 12 : hour * 12 + 12]) == {x}


def test_a_year_has_8760_hours_in_the_city() -> None:
    zone = ZoneInfo(load_city("bengaluru").timezone)
    begin, end = (datetime(y, 1, 1, tzinfo=zone).astimezone(UTC) for y in (2025, 2026))
    assert (end - begin).total_seconds() / 3600 == 8760
