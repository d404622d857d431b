"""Every kind of broken pack gets its code, table and column; several faults come together; nothing raises."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from editable import Editable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ev_grid_oracle.city import load_city, validate_pack
from ev_grid_oracle.city.faults import MAX_PER_KIND
from ev_grid_oracle.city.hash import pack_files
from ev_grid_oracle.city.load import DATA
from ev_grid_oracle.city.radial import radial_faults
from ev_grid_oracle.schema.errors import PackError

Edit = Callable[[Editable], object]
S, B, F, N, L, Z = (f"{n}.csv" for n in ("stations", "buses", "feeders", "nodes", "links", "zones"))
M, SC, P = "manifest.toml", "scenarios/station_outage.toml", "provenance.csv"
V, PV, PS, C = (f"{n}.csv" for n in ("vehicles", "persona_vehicles", "personas", "conductors"))
CG, DS, LS = "congestion.csv", "demand_shape.csv", "load_shapes.csv"


def cell(file: str, row: int, column: str, value: str) -> Edit:
    return lambda e: e.set(file, row, column, value)


def swap(e: Editable) -> None:
    lat, lon = e.get(S, 0, "lat"), e.get(S, 0, "lon")
    e.set(S, 0, "lat", lon)
    e.set(S, 0, "lon", lat)


def raw(file: str, change: Callable[[bytes], bytes]) -> Edit:
    return lambda e: (e.path / file).write_bytes(change((e.path / file).read_bytes()))


def rename(file: str, old: str, new: str) -> Edit:
    return lambda e: e.text(file, old, new)


def unlink(file: str) -> Edit:
    return lambda e: (e.path / file).unlink()


def append(file: str, row: list[str]) -> Edit:
    return lambda e: e.write(file, [*e.rows(file), row])


def copy_row(file: str, row: int) -> Edit:
    return lambda e: e.write(file, [*e.rows(file), e.rows(file)[row + 1]])


def one_way_out(e: Editable) -> None:
    """Node N00 keeps its ways in and loses its ways out."""
    e.write(L, [r for r in e.rows(L) if r[1] != "N00"])


def loop_and_island(e: Editable) -> None:
    """Four buses, three lines 1-2, 2-3, 3-1, bus 4 alone: 'lines = buses - 1' holds and it is no tree."""
    for row, parent in enumerate(("T01-B3", "T01-B1", "T01-B2", "")):
        e.set(B, row, "parent", parent)


CATALOGUE: dict[str, tuple[Edit, str, str, str]] = {
    "missing table": (unlink("tariff.csv"), "P_MISSING_FILE", "tariff.csv", ""),
    "missing manifest": (unlink(M), "P_MISSING_FILE", M, ""),
    "no baseline": (unlink("scenarios/baseline.toml"), "P_NO_BASELINE", "scenarios/baseline.toml", ""),
    "missing column": (lambda e: e.drop_column(S, "slots"), "P_MISSING_COLUMN", S, "slots"),
    "amperes for kW": (rename(S, "site_limit_kw", "site_limit_a"), "P_UNKNOWN_COLUMN", S, "site_limit_a"),
    "amperes, and so no kW": (rename(S, "site_limit_kw", "site_limit_a"),
        "P_MISSING_COLUMN", S, "site_limit_kw"),
    "double column": (rename(S, "slug,name", "name,name"), "P_DOUBLE_COLUMN", S, "name"),
    "not a number": (cell(S, 0, "slots", "four"), "P_NOT_NUMBER", S, "slots"),
    "underscore in number": (cell(L, 0, "length_m", "1_080"), "P_NOT_NUMBER", L, "length_m"),
    "full-width digits": (cell(S, 0, "slots", "４"), "P_NOT_NUMBER", S, "slots"),
    "not whole": (cell(S, 0, "slots", "4.5"), "P_NOT_INTEGER", S, "slots"),
    "nan": (cell(V, 0, "battery_kwh", "nan"), "P_NAN", V, "battery_kwh"),
    "infinity": (cell(S, 0, "price_inr_kwh", "inf"), "P_NAN", S, "price_inr_kwh"),
    "empty number": (cell(S, 0, "site_limit_kw", ""), "P_EMPTY_CELL", S, "site_limit_kw"),
    "empty text": (cell(S, 0, "name", ""), "P_EMPTY_CELL", S, "name"),
    "blanks around": (cell(S, 0, "slug", " centre"), "P_BLANK", S, "slug"),
    "bad id": (cell(S, 0, "slug", "a b"), "P_BAD_ID", S, "slug"),
    "unknown choice": (cell(S, 0, "type", "rapid"), "P_CHOICE", S, "type"),
    "negative length": (cell(L, 0, "length_m", "-5"), "P_RANGE", L, "length_m"),
    "zero line": (cell(B, 0, "length_km", "0"), "P_RANGE", B, "length_km"),
    "battery in Wh": (cell(V, 0, "battery_kwh", "26000"), "P_RANGE", V, "battery_kwh"),
    "rating in kVA": (cell(F, 0, "rating_mva", "2650"), "P_RANGE", F, "rating_mva"),
    "length in km": (cell(L, 0, "length_m", "1.08"), "P_TOO_SHORT", L, "length_m"),
    "flag of 2": (cell(L, 0, "cbd", "2"), "P_RANGE", L, "cbd"),
    "duplicate station": (copy_row(S, 0), "P_DUPLICATE", S, "station_id"),
    "duplicate slug": (cell(S, 1, "slug", "centre"), "P_DUPLICATE", S, "slug"),
    "same place": (lambda e: (e.set(S, 1, "lat", "15.0200"), e.set(S, 1, "lon", "75.0300")),
                   "P_SAME_PLACE", S, "lat"),
    "unknown feeder": (cell(S, 0, "feeder", "T09"), "P_UNKNOWN_REF", S, "feeder"),
    "unknown bus": (cell(S, 0, "bus", "T01-B9"), "P_UNKNOWN_REF", S, "bus"),
    "bus of another feeder": (cell(S, 0, "bus", "T02-B3"), "P_OTHER_FEEDER", S, "bus"),
    "unknown zone": (cell(N, 0, "zone", "Z-X"), "P_UNKNOWN_REF", N, "zone"),
    "unknown node": (cell(L, 0, "to_node", "N99"), "P_UNKNOWN_REF", L, "to_node"),
    "unknown vehicle": (cell(PV, 0, "vehicle", "tesla"), "P_UNKNOWN_REF",
                        PV, "vehicle"),
    "unknown side": (cell(F, 0, "side", "up"), "P_UNKNOWN_REF", F, "side"),
    "unknown conductor": (cell(B, 1, "conductor", "Cat"), "P_UNKNOWN_REF", B, "conductor"),
    "swapped coordinates": (swap, "P_OUTSIDE_BOX", S, "lat"),
    "lost sign": (cell(S, 0, "lon", "-75.0300"), "P_OUTSIDE_BOX", S, "lon"),
    "far from the road": (cell(S, 0, "lat", "15.0950"), "P_FAR_FROM_ROAD", S, "lat"),
    "loop": (loop_and_island, "P_LOOP", B, "parent"),
    "island": (loop_and_island, "P_ISLAND", B, "parent"),
    "no root": (loop_and_island, "P_NO_ROOT", B, "parent"),
    "two roots": (cell(B, 2, "parent", "SOURCE"), "P_TWO_ROOTS", B, "parent"),
    "parent on another feeder": (cell(B, 2, "parent", "T02-B1"), "P_OTHER_FEEDER", B, "parent"),
    "own parent": (cell(B, 2, "parent", "T01-B3"), "P_LOOP", B, "parent"),
    "no base voltage": (rename(M, "vn_kv = 11.0", "vn_kv = 0"), "P_RANGE", M, "grid.vn_kv"),
    "no impedance": (lambda e: (e.set(C, 0, "r_ohm_km", "0"), e.set(C, 0, "x_ohm_km", "0")),
                     "P_ZERO_IMPEDANCE", C, "r_ohm_km"),
    "rating above the wire": (cell(F, 0, "rating_mva", "4.0"), "P_RATING", F, "rating_mva"),
    "substation too small": (cell("substations.csv", 0, "mva", "3"), "P_RATING", "substations.csv", "mva"),
    "head is not the head": (cell(B, 0, "conductor", "Rabbit"), "P_HEAD_CONDUCTOR", B, "conductor"),
    "base shares": (cell(B, 0, "base_share", "0.9"), "P_SUM", B, "base_share"),
    "mix": (cell(F, 0, "mix_office", "0.5"), "P_SUM", F, "mix_residential"),
    "vehicle shares": (cell(PV, 0, "share", "0.5"), "P_SUM", PV, "share"),
    "persona shares": (cell(PS, 0, "request_share", "0.5"), "P_SUM", PS, "request_share"),
    "soc order": (cell(PS, 0, "soc_lo", "0.9"), "P_ORDER", PS, "soc_lo"),
    "patience order": (cell(PS, 0, "patience_lo_min", "99"), "P_ORDER", PS, "patience_lo_min"),
    "site above transformer": (cell(S, 0, "site_limit_kw", "120"), "P_SITE_LIMIT", S, "site_limit_kw"),
    "site below one slot": (cell(S, 1, "site_limit_kw", "40"), "P_SITE_LIMIT", S, "site_limit_kw"),
    "socket without power": (cell(S, 0, "ac_socket_kw", "0"), "P_AC_SOCKET", S, "ac_socket_kw"),
    "one-way trap": (one_way_out, "P_NOT_CONNECTED", N, "node_id"),
    "self-loop": (cell(L, 0, "to_node", "N00"), "P_SELF_LOOP", L, "to_node"),
    "empty zone": (append(Z, ["Z-E", "Empty", "15.02", "75.03", "cbd", "mixed", "1", "1"]),
        "P_EMPTY_ZONE", Z, "zone_id"),
    "missing congestion row": (lambda e: e.drop_row(CG, 0), "P_MISSING_ROW", CG, "day_type"),
    "missing season": (lambda e: e.drop_row("load_levels.csv", 0),
        "P_MISSING_ROW", "load_levels.csv", "season"),
    "persona without car": (lambda e: [e.drop_row(PV, 8) for _ in range(2)],
                            "P_MISSING_ROW", PV, "persona"),
    "sun at night": (cell("renewable.csv", 0, "h23", "0.1"), "P_NIGHT_SUN", "renewable.csv", "h23"),
    "more than all is green": (cell("renewable.csv", 0, "h12", "0.95"), "P_SUM", "renewable.csv", "h12"),
    "tariff gap": (lambda e: e.drop_row("tariff.csv", 4), "P_TARIFF_COVER", "tariff.csv", "start"),
    "tariff overlap": (cell("tariff.csv", 0, "end", "10:00"), "P_TARIFF_COVER", "tariff.csv", "start"),
    "no time": (cell("tariff.csv", 0, "start", "6 am"), "P_TIME", "tariff.csv", "start"),
    "time missing": (lambda e: e.drop_row(DS, 3), "P_TIME_GRID", DS, "time"),
    "not normalised": (cell(DS, 37, "factor", "9"), "P_NORMALISED", DS, "factor"),
    "shape not normalised": (lambda e: [e.set(LS, 0, f"h{h}", "0.5") for h in range(17, 23)],
                             "P_NORMALISED", LS, "h17"),
    "semicolons": (raw(S, lambda b: b.replace(b",", b";")), "P_SEPARATOR", S, ""),
    "tabs": (raw(S, lambda b: b.replace(b",", b"\t")), "P_SEPARATOR", S, ""),
    "decimal comma": (rename(L, ",1080,", ",1080,5,"), "P_ROW_LENGTH", L, ""),
    "byte-order mark": (raw(S, lambda b: b"\xef\xbb\xbf" + b), "P_BOM", S, ""),
    "latin-1": (raw(S, lambda b: b.replace(b"Market", b"March\xe9")), "P_ENCODING", S, ""),
    "utf-16": (raw(S, lambda b: b.decode().encode("utf-16")), "P_ENCODING", S, ""),
    "zero byte": (raw(S, lambda b: b.replace(b"Market", b"Mar\0ket")), "P_CONTROL", S, ""),
    "open quote": (raw(S, lambda b: b.replace(b"Market", b'"Market')), "P_CSV", S, ""),
    "empty file": (raw(S, lambda b: b""), "P_EMPTY", S, ""),
    "header only": (lambda e: e.write(S, e.rows(S)[:1]), "P_EMPTY", S, ""),
    "oversized": (raw(S, lambda b: b + b"\n" * (9 * 1024 * 1024)), "P_TOO_LARGE", S, ""),
    "unknown table": (lambda e: e.write("station.csv", [["a"]]), "P_UNKNOWN_TABLE", "station.csv", ""),
    "toml syntax": (rename(M, "[grid]", "[grid"), "P_TOML", M, ""),
    "missing key": (rename(M, "pf_base = 0.94\n", ""), "P_MISSING_KEY", M, "grid.pf_base"),
    "unknown key": (rename(M, "pf_base = 0.94", "pf_base = 0.94\npf_bas = 1"),
        "P_UNKNOWN_KEY", M, "grid.pf_bas"),
    "per cent for a share": (rename(M, "announced_share = 0.5", "announced_share = 50"), "P_RANGE", M,
                             "demand.announced_share"),
    "nan in toml": (rename(M, "pf_base = 0.94", "pf_base = nan"), "P_NAN", M, "grid.pf_base"),
    "text for number": (rename(M, "vn_kv = 11.0", 'vn_kv = "11"'), "P_NOT_NUMBER", M, "grid.vn_kv"),
    "true for number": (rename(M, "vn_kv = 11.0", "vn_kv = true"), "P_NOT_NUMBER", M, "grid.vn_kv"),
    "schema of the future": (rename(M, "schema_version = 1", "schema_version = 2"),
        "P_RANGE", M, "schema_version"),
    "no such zone": (rename(M, "Asia/Kolkata", "Asia/Bangalore"), "P_TIMEZONE", M, "city.timezone"),
    "wrong offset": (rename(M, "timezone_offset_min = 330", "timezone_offset_min = 300"), "P_TIMEZONE", M,
                     "city.timezone_offset_min"),
    "box upside down": (rename(M, "lat_min = 14.95", "lat_min = 16.0"), "P_ORDER", M, "bbox.lat_min"),
    "unknown event": (rename(SC, '"slots"', '"slot"'), "P_EVENT_KIND", SC, "kind"),
    "unknown target": (rename(SC, "TOY-C", "TOY-X"), "P_TARGET", SC, "stations"),
    "target of another kind": (rename(SC, 'stations = ["TOY-C"]', 'zones = ["Z-C"]'),
        "P_TARGET", SC, "zones"),
    "target no list": (rename(SC, '["TOY-C"]', '"TOY-C"'), "P_TARGET", SC, "stations"),
    "half a slot": (rename(SC, "value = 1.0", "value = 1.5"), "P_RANGE", SC, "value"),
    "per cent for a factor": (rename(SC, "value = 1.3", "value = 130"), "P_RANGE", SC, "value"),
    "negative tick": (rename(SC, "tick = 14", "tick = -1"), "P_RANGE", SC, "tick"),
    "another name": (rename(SC, 'name = "station_outage"', 'name = "outage"'), "P_CHOICE", SC, "name"),
    "event without kind": (rename(SC, 'kind = "demand"\n', ""), "P_MISSING_KEY", SC, "kind"),
    "provenance missing": (lambda e: e.drop_row(P, 0), "P_NO_PROVENANCE", M, "schema_version"),
    "provenance stray": (append(P, ["stations.csv", "colour", "x", "general", ""]),
        "P_STRAY_PROVENANCE", P, "column"),
    "confidence": (cell(P, 0, "confidence", "sure"), "P_CHOICE", P, "confidence"),
}  # fmt: skip


def test_the_toy_pack_has_no_fault(toy: Editable) -> None:
    assert validate_pack(toy.path) == ()


@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue(toy: Editable, name: str) -> None:
    edit, code, table, column = CATALOGUE[name]
    edit(toy)
    faults = validate_pack(toy.path)
    assert (code, table, column) in {(f.code, f.table, f.column) for f in faults}, [str(f) for f in faults]
    assert all(f.message and f.code.startswith("P_") for f in faults)
    with pytest.raises(PackError) as caught:
        load_city(toy.path)
    assert code in str(caught.value)


def test_catalogue_is_large_enough() -> None:
    assert len(CATALOGUE) >= 40


def test_several_faults_are_all_reported(toy: Editable) -> None:
    edits = ["nan", "unknown feeder", "loop", "no impedance", "unknown target", "latin-1", "no base voltage"]
    edits.remove("latin-1")  # an unreadable table hides what is in it; the rest must still show
    for name in edits:
        CATALOGUE[name][0](toy)
    got = {(f.code, f.table, f.column) for f in validate_pack(toy.path)}
    assert {CATALOGUE[name][1:] for name in edits} <= got


def test_an_unreadable_table_does_not_hide_the_others(toy: Editable) -> None:
    for name in ("semicolons", "loop", "nan"):
        CATALOGUE[name][0](toy)
    got = {(f.code, f.table, f.column) for f in validate_pack(toy.path)}
    assert {CATALOGUE[n][1:] for n in ("semicolons", "loop", "nan")} <= got


def test_loop_and_island_are_named(toy: Editable) -> None:
    loop_and_island(toy)
    faults = {f.code: f for f in validate_pack(toy.path)}
    assert "T01-B1-T01-B2-T01-B3" in faults["P_LOOP"].message
    assert "{T01-B4}" in faults["P_ISLAND"].message
    assert faults["P_ISLAND"].row == 5


def test_four_buses_and_three_lines_are_not_enough() -> None:
    loops, islands = radial_faults(["1", "2", "3", "4"], [("1", "2"), ("2", "3"), ("3", "1")], "1")
    assert loops == [("1", "2", "3")]
    assert islands == [("4",)]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("swapped coordinates", "swapped"), ("lost sign", "sign"), ("amperes for kW", "site_limit_kw")],
)
def test_the_cure_says_what_probably_happened(toy: Editable, name: str, hint: str) -> None:
    edit, code, table, column = CATALOGUE[name]
    edit(toy)
    (fault,) = [f for f in validate_pack(toy.path) if (f.code, f.table, f.column) == (code, table, column)]
    assert hint in fault.cure


@pytest.mark.parametrize(
    ("name", "row"),
    [("nan", 2), ("negative length", 2), ("no base voltage", 24), ("bus of another feeder", 2)],
)
def test_a_fault_carries_its_line(toy: Editable, name: str, row: int) -> None:
    edit, code, table, column = CATALOGUE[name]
    edit(toy)
    (fault,) = [f for f in validate_pack(toy.path) if (f.code, f.table, f.column) == (code, table, column)]
    assert fault.row == row


def test_a_column_that_is_wrong_everywhere_does_not_flood(toy: Editable) -> None:
    rows = toy.rows(L)
    at = rows[0].index("length_m")
    toy.write(L, [rows[0], *([*r[:at], "x", *r[at + 1 :]] for r in rows[1:])])
    faults = [f for f in validate_pack(toy.path) if f.code == "P_NOT_NUMBER"]
    assert len(faults) == MAX_PER_KIND + 1
    assert "more of this kind" in faults[-1].message


def test_no_folder_is_a_fault(tmp_path: Path) -> None:
    assert [f.code for f in validate_pack(tmp_path / "nowhere")] == ["P_MISSING_FILE"]
    assert validate_pack(tmp_path)  # an empty folder


FILES = pack_files(DATA / "toy")
ODD = st.one_of(
    st.sampled_from(
        ["", "nan", "-1", "0", "1e308", "1e-99", "SOURCE", "N00", "T01-B1", "24:00", "00:00", ",", '"', "\n"]
    ),
    st.text(max_size=8).map(lambda s: s.encode("utf-8", "replace").decode()),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_damage_never_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One to three cells or bytes anywhere: a list of faults, or none, never a traceback."""
    path = tmp_path_factory.mktemp("damage") / "toy"
    shutil.copytree(DATA / "toy", path)
    e = Editable(path)
    for _ in range(data.draw(st.integers(1, 3))):
        file = data.draw(st.sampled_from(FILES))
        blob = (path / file).read_bytes()
        if file.endswith(".csv") and data.draw(st.booleans()):
            try:
                rows = e.rows(file)
                r = data.draw(st.integers(0, len(rows) - 1))
                c = data.draw(st.integers(0, len(rows[r]) - 1))
            except (UnicodeDecodeError, ValueError, IndexError):
                continue
            rows[r][c] = data.draw(ODD)
            e.write(file, rows)
        else:
            at = data.draw(st.integers(0, max(len(blob) - 1, 0)))
            new = data.draw(st.binary(max_size=3))
            (path / file).write_bytes(blob[:at] + new + blob[at + data.draw(st.integers(0, 40)) :])
    faults = validate_pack(path)
    try:
        load_city(path)
        assert not faults
    except PackError:
        assert faults
    shutil.rmtree(path)
