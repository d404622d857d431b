"""From a Hugging Face folder to a model that runs without torch: graph, tokenizer, and the check that both agree.

The ONNX graph is written node by node from the weights (Qwen2: RMSNorm, rotary attention, SwiGLU, tied head): thirty
lines that do not change with an exporter's version, and one input more than an exporter would give, the places whose
logits are wanted.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import Qwen2ForCausalLM

from ev_grid_oracle.evaluation.writing import write_atomic
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_net import GRAPH

OPSET = 17
IR = 9


class _Graph:
    """Nodes and weights of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._count = 0

    def weight(self, name: str, value: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def __call__(self, op: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        self._count += 1
        out = to or f"v{self._count}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out


def graph_of(model: Qwen2ForCausalLM) -> Any:
    """The ONNX model: ids (B, T), at (B, P) -> logits (B, P, V)."""
    c, g = model.config, _Graph()
    weights = {k: v.detach().float().cpu().numpy() for k, v in model.state_dict().items()}
    heads, width = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    t_max = int(c.max_position_embeddings)
    angle = np.outer(np.arange(t_max), 1.0 / 10000.0 ** (np.arange(0, width, 2) / width))
    angle = np.concatenate([angle, angle], 1).astype(np.float32)
    g.weight("cos", np.cos(angle)), g.weight("sin", np.sin(angle))
    g.weight("mask", np.triu(np.full((t_max, t_max), -1e9, np.float32), 1))
    for name, numbers in (
        ("zero", [0]), ("one", [1]), ("two", [2]), ("last", [-1]), ("half", [width // 2]), ("all", [2**31 - 1]),
        ("split", [0, 0, heads, width]), ("join", [0, 0, heads * width]),
    ):  # fmt: skip
        g.weight(name, np.array(numbers, np.int64))
    g.weight("eps", np.array(c.rms_norm_eps, np.float32))
    g.weight("scale", np.array(1.0 / math.sqrt(width), np.float32))
    table = g.weight("table", weights["model.embed_tokens.weight"])

    def norm(x: str, name: str) -> str:
        mean = g("ReduceMean", g("Mul", x, x), axes=[-1], keepdims=1)
        return g("Mul", g("Div", x, g("Sqrt", g("Add", mean, "eps"))), g.weight(name, weights[name]))

    def linear(x: str, name: str) -> str:
        y = g("MatMul", x, g.weight(f"{name}.t", weights[f"{name}.weight"].T))
        bias = f"{name}.bias"
        return g("Add", y, g.weight(bias, weights[bias])) if bias in weights else y

    def turned(x: str, cos: str, sin: str) -> str:
        first = g("Slice", x, "zero", "half", "last")
        second = g("Slice", x, "half", "all", "last")
        rotated = g("Concat", g("Neg", second), first, axis=-1)
        return g("Add", g("Mul", x, cos), g("Mul", rotated, sin))

    def parted(x: str) -> str:
        return g("Transpose", g("Reshape", x, "split"), perm=[0, 2, 1, 3])

    def asked(x: str) -> str:
        return g("GatherND", x, g("Unsqueeze", "at", "last"), batch_dims=1)

    length = g("Slice", g("Shape", "ids"), "one", "two")
    cos, sin = (g("Slice", name, "zero", length, "zero") for name in ("cos", "sin"))
    mask = g("Slice", g("Slice", "mask", "zero", length, "zero"), "zero", length, "one")
    q_cos, q_sin, q_mask = cos, sin, mask
    x = g("Gather", table, "ids")
    for k in range(c.num_hidden_layers):
        at = f"model.layers.{k}"
        y = norm(x, f"{at}.input_layernorm.weight")
        key, value = (parted(linear(y, f"{at}.self_attn.{n}_proj")) for n in "kv")
        if k == c.num_hidden_layers - 1:  # from here on only the places asked for matter
            x, y = asked(x), asked(y)
            q_cos, q_sin, q_mask = (
                g("Unsqueeze", g("Gather", name, "at"), "one") for name in (cos, sin, mask)
            )
        q = parted(linear(y, f"{at}.self_attn.q_proj"))
        keys = g("Transpose", turned(key, cos, sin), perm=[0, 1, 3, 2])
        score = g("MatMul", turned(q, q_cos, q_sin), keys)
        look = g("Softmax", g("Add", g("Mul", score, "scale"), q_mask), axis=-1)
        mixed = g("Reshape", g("Transpose", g("MatMul", look, value), perm=[0, 2, 1, 3]), "join")
        x = g("Add", x, linear(mixed, f"{at}.self_attn.o_proj"))
        y = norm(x, f"{at}.post_attention_layernorm.weight")
        gate = linear(y, f"{at}.mlp.gate_proj")
        inner = g("Mul", g("Mul", gate, g("Sigmoid", gate)), linear(y, f"{at}.mlp.up_proj"))
        x = g("Add", x, linear(inner, f"{at}.mlp.down_proj"))
    final = norm(x, "model.norm.weight")
    g("MatMul", final, g("Transpose", table, perm=[1, 0]), to="logits")
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes, "small_oracle",
        [info("ids", TensorProto.INT64, ["B", "T"]), info("at", TensorProto.INT64, ["B", "P"])],
        [info("logits", TensorProto.FLOAT, ["B", "P", c.vocab_size])], g.weights,
    )  # fmt: skip
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="ev-grid-oracle"
    )
    made.ir_version = IR
    onnx.checker.check_model(made)
    return made


def tokenizer_json() -> str:
    """`tokenizer.json`: a word-level vocabulary, words split by blanks and line ends."""
    vocabulary = dict(w.VOCABULARY)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=w.PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    text: str = tokenizer.to_str(pretty=False)
    return text


def export(model: Qwen2ForCausalLM, folder: Path) -> None:
    """Write config, safetensors, tokenizer and graph into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    write_atomic(folder / "tokenizer.json", tokenizer_json())
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": w.PAD, "model_max_length": 256}
    write_atomic(folder / "tokenizer_config.json", json.dumps(about, indent=2) + "\n")
    part = folder / f".{GRAPH}.part"
    part.write_bytes(graph_of(model).SerializeToString())
    part.replace(folder / GRAPH)
    for name in ("model.safetensors", GRAPH):  # safetensors writes for the owner alone
        (folder / name).chmod(0o644)


def torch_logits(model: Qwen2ForCausalLM, rows: list[Any]) -> Any:
    """(B, V) after the last token of each row, by torch: what the graph must equal."""
    out = []
    with torch.no_grad():
        for row in rows:
            ids = torch.from_numpy(np.asarray(row, np.int64))[None]
            out.append(model(input_ids=ids, use_cache=False).logits[0, -1].numpy())
    return np.stack(out)
