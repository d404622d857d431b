"""On Ray the same episodes give the same rows, and a killed worker costs none."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.work import Spec, Task
from ev_grid_oracle.schema.errors import MissingExtraError

ray = pytest.importorskip("ray", reason="the backend ray needs the extra `scale`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two processors of this machine, for all tests of the file."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        configure_logging=False,
    )
    yield
    ray.shutdown()


def rows(plan: Plan) -> dict[str, object]:
    full = report(evaluate(plan), None)
    return {k: full[k] for k in ("runs", "policies", "manifest", "receipts")}


def test_the_same_rows_although_a_worker_is_killed(
    cluster: None, plan_of: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt at one block ends its worker process with SIGKILL; Ray begins it again."""
    from ev_grid_oracle.evaluation import backend_ray

    mark = tmp_path / "was killed"
    usual = backend_ray.work

    def work(city: CityPack, spec: Spec, task: Task, code: str) -> object:
        if task.block == 1 and task.policy == "baseline" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(city, spec, task, code)

    plan = plan_of(policies=("baseline", "random"))
    told = rows(plan)
    monkeypatch.setattr(backend_ray, "work", work)
    assert rows(dataclasses.replace(plan, backend="ray", workers=2)) == told
    assert mark.exists()
    assert ray.is_initialized(), "a cluster that was there before is left running"


def test_an_error_of_the_work_comes_back(
    cluster: None, plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ev_grid_oracle.evaluation import backend_ray

    monkeypatch.setattr(backend_ray, "code_hash", lambda: "0" * 64)
    with pytest.raises(Exception, match="other code"):
        evaluate(plan_of(backend="ray", workers=2))


def test_without_ray_the_extra_is_named(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="scale"):
        evaluate(plan_of(backend="ray"))
