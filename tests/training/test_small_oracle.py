"""The policy `oracle`: legal answers whatever the weights, the same alone and in a block, texts that parse to its rows."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.session import decoder_of
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.policies.llm.small_net import Net
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.testing.policy import check_policy

SCENARIOS = ("baseline", "transformer_derate", "station_outage")


def oracle(folder):
    from ev_grid_oracle.policies.llm.small import SmallOracle

    return SmallOracle(net=Net(folder))


def block(city, n=3):
    batch = Batch(city, n, max_answers=packed(city).layout.dims["MP"])
    names = [s for s in SCENARIOS if s in {x.name for x in city.scenarios}]
    batch.reset([resolve(city, seed=9 + k, scenario=names[k % len(names)]).world for k in range(n)])
    return batch


def test_keeps_the_contract_of_a_policy(untrained):
    check_policy(lambda: oracle(untrained), "toy")


@pytest.mark.parametrize("name", ["toy", "bengaluru"])
def test_no_answer_is_refused_and_a_block_answers_as_one(untrained, name, request):
    city = request.getfixturevalue("toy" if name == "toy" else "city")
    batch, together, alone = block(city), oracle(untrained), oracle(untrained)
    together.begin_batch([PolicyContext(packed(city))] * batch.n)
    kinds = set()
    for _ in range(14):
        rows = [batch.world.observe(e) for e in range(batch.n)]
        kept = [o.copy() for o in rows]
        batch.answers[:] = 0
        batch.counts[:] = together.answer_batch(rows, list(batch.answers), range(batch.n))
        for e, o in enumerate(rows):
            assert np.array_equal(o, kept[e], equal_nan=True)
            out = np.zeros_like(batch.answers[0])
            alone.begin(PolicyContext(packed(city)))
            assert alone.answer(o, out) == batch.counts[e] and np.array_equal(out, batch.answers[e])
            kinds |= set(out[: batch.counts[e], r.D_KIND].tolist())
        batch.step()
    accounts = batch.world.view("EP")
    assert accounts[:, r.A_REFUSED].sum() == 0 and accounts[:, r.A_INVALID].sum() == 0
    assert int(ActionKind.ROUTE) in kinds


def test_texts_parse_to_the_rows_and_hold_a_forecast(untrained, city):
    from ev_grid_oracle.policies.llm.small_text import texts

    batch, policy = block(city), oracle(untrained)
    policy.begin_batch([PolicyContext(packed(city))] * batch.n)
    decoder, spoken = decoder_of(packed(city)), 0
    for _ in range(6):
        rows = [batch.world.observe(e) for e in range(batch.n)]
        said = texts(policy, rows, range(batch.n), predict=True)
        batch.answers[:] = 0
        batch.counts[:] = policy.answer_batch(rows, list(batch.answers), range(batch.n))
        for e, text in enumerate(said):
            obs = LiveObservation(decoder, rows[e].copy(), (), None, {}, (), 0, {})
            found = parse_action(text, obs)
            assert found.ok, found.errors
            assert len(found.actions) == batch.counts[e]
            if not found.actions:
                continue
            spoken += 1
            assert found.prediction is not None and len(found.prediction.top_stations) == 3
            for action, row in zip(found.actions, batch.answers[e], strict=False):
                assert action.kind == row[r.D_KIND] and action.defer_minutes == row[r.D_DEFER]
                station = -1 if action.station_id is None else city.stations.ids.index(action.station_id)
                assert station == row[r.D_STATION] and action.rate == row[r.D_RATE]
                assert round(action.confidence * 10000) == row[r.D_CONF]
                assert 1 <= len(action.reason.split()) <= 20
        batch.step()
    assert spoken >= 6


def test_order_of_lines_is_free_of_station_numbers(untrained, city):
    """A pointer names a line, not a station: equal questions get equal answers wherever they stand in a batch."""
    net = Net(untrained)
    rng = np.random.default_rng(1)
    rows = [rng.integers(1, 400, n).astype(np.int32) for n in (20, 33, 57, 106)]
    single = np.concatenate([net.last([row]) for row in rows])
    assert np.array_equal(single, net.last(rows))


def test_a_missing_or_damaged_model_is_an_error_with_a_cure(tmp_path):
    pytest.importorskip("onnxruntime", reason="needs the extra `oracle`")
    with pytest.raises(ModelError, match="no model"):
        Net(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="damaged"):
        Net(tmp_path)


def test_asked_before_an_episode_it_says_so(untrained):
    with pytest.raises(RuntimeError, match="begin"):
        oracle(untrained).answer(np.zeros(4), np.zeros((2, 8), np.int32))


def test_the_shipped_model_is_small_whole_and_the_same_in_torch():
    torch = pytest.importorskip("torch", reason="needs the extra `train`")
    transformers = pytest.importorskip("transformers", reason="needs the extra `train`")
    from ev_grid_oracle.policies.llm import small_words as w
    from ev_grid_oracle.policies.llm.small_net import FOLDER

    assert sum(f.stat().st_size for f in FOLDER.iterdir()) <= 16_000_000
    model = transformers.Qwen2ForCausalLM.from_pretrained(str(FOLDER)).eval()
    assert 300_000 <= sum(p.numel() for p in model.parameters()) <= 3_000_000
    assert model.config.vocab_size == Net(FOLDER).vocabulary == w.SIZE
    rng = np.random.default_rng(4)
    head = rng.uniform(0.0, 60.0, (24, len(w.CAR.header)))
    rows = [w.CAR.ids(h, rng.uniform(0.0, 40.0, (int(rng.integers(1, 9)), len(w.CAR.line)))) for h in head]
    ours = Net(FOLDER).last(rows)
    with torch.no_grad():
        theirs = [
            model(input_ids=torch.tensor(row[None].astype(np.int64))).logits[0, -1].numpy() for row in rows
        ]
    assert np.abs(ours - np.stack(theirs)).max() < 1e-3
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(FOLDER))
    assert tokenizer(w.spell(rows[0]))["input_ids"] == rows[0].tolist()
