"""A policy for MaskablePPO in which stations attend to each other.

Each station is a token made of its own columns and its feeder's; one block of self-attention lets every station
see the others (a queue next door, a shared feeder). A (car, station) pair is then scored from its candidate columns,
the car, the clock and the station's token, with the same weights for all slots and stations, so the network works
for a city of any size and does not depend on the order of its stations.

    MaskablePPO(AttentionPolicy, SB3VecEnv(32, city=city), policy_kwargs=attention_arguments(city))
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.interfaces.spaces import SLOTS, GymLayout, layout_of
from ev_grid_oracle.schema.errors import MissingExtraError

try:
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from torch import nn
except ImportError as missing:
    raise MissingExtraError(
        "MaskablePPO needs the `gym` and `train` extras.",
        "Run: pip install 'openenv-ev-grid-oracle[gym,train]'",
    ) from missing

HIDDEN, HEADS, VALUE = 48, 4, 64
HEAD_START = 0.05  # logits begin near zero, so that choices begin near uniform


class StationAttention(nn.Module):
    """Logits of every choice of every slot, and features for the value of the state.

    Args:
        layout: of the observation vector and the choices.
        feeder_of: (S,) feeder of each station.
    """

    def __init__(self, layout: GymLayout, feeder_of: npt.NDArray[np.int32]) -> None:
        super().__init__()
        self.shapes, self.sizes = layout.shapes, [int(np.prod(s)) for s in layout.shapes.values()]
        self.feeder_of: torch.Tensor
        self.register_buffer("feeder_of", torch.as_tensor(feeder_of.astype(np.int64)))
        width = {name: shape[-1] for name, shape in layout.shapes.items()}
        self.place = nn.Linear(width["stations"] + width["feeders"], HIDDEN)
        self.attend = nn.TransformerEncoderLayer(
            HIDDEN, HEADS, 2 * HIDDEN, dropout=0.0, batch_first=True, norm_first=True
        )
        self.candidate = nn.Linear(width["candidates"], HIDDEN)
        self.car = nn.Linear(width["cars"], HIDDEN)
        self.clock = nn.Linear(width["clock"], HIDDEN)
        self.pair = nn.Sequential(nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.rates = nn.Linear(HIDDEN, 3)
        self.others = nn.Linear(HIDDEN, layout.choices - 3 * len(feeder_of))
        critic = HIDDEN + width["clock"] + width["cars"]
        self.critic = nn.Sequential(nn.Linear(critic, VALUE), nn.ReLU(), nn.Linear(VALUE, VALUE), nn.ReLU())
        self.latent_dim_pi, self.latent_dim_vf = SLOTS * layout.choices, VALUE
        with torch.no_grad():
            for head in (self.rates, self.others):
                head.weight.mul_(HEAD_START)
                head.bias.zero_()

    def _blocks(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        parts = torch.split(x, self.sizes, dim=1)
        return {n: p.reshape(-1, *s) for (n, s), p in zip(self.shapes.items(), parts, strict=True)}

    def _stations(self, b: dict[str, torch.Tensor]) -> torch.Tensor:
        """(B, S, HIDDEN) what each station is among the others."""
        own = torch.cat([b["stations"], b["feeders"][:, self.feeder_of]], dim=2)
        seen: torch.Tensor = self.attend(self.place(own))
        return seen

    def forward_actor(self, x: torch.Tensor) -> torch.Tensor:
        """(B, SLOTS x choices) logits, in the order of `GymLayout.names`."""
        b = self._blocks(x)
        shared = self.car(b["cars"]) + self.clock(b["clock"])[:, None]
        pair = self.pair(self.candidate(b["candidates"]) + shared[:, :, None] + self._stations(b)[:, None])
        routes = self.rates(pair).flatten(2)  # (B, SLOTS, 3 S)
        others = self.others(self.pair(shared) + pair.amax(2))  # leave, deferrals, load_shifts
        return torch.cat([others[..., :1], routes, others[..., 1:]], dim=2).flatten(1)

    def forward_critic(self, x: torch.Tensor) -> torch.Tensor:
        """(B, VALUE) features of the state."""
        b = self._blocks(x)
        value: torch.Tensor = self.critic(
            torch.cat([self._stations(b).mean(1), b["clock"], b["cars"].mean(1)], dim=1)
        )
        return value

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both, as Stable-Baselines3 asks for them."""
        return self.forward_actor(x), self.forward_critic(x)


class AttentionPolicy(MaskableActorCriticPolicy):
    """MaskablePPO's policy with `StationAttention` in place of a dense layer a choice."""

    def __init__(
        self, *args: Any, layout: GymLayout, feeder_of: npt.NDArray[np.int32], **kwargs: Any
    ) -> None:
        self._made_of = (layout, feeder_of)
        super().__init__(*args, **{**kwargs, "ortho_init": False})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor: Any = StationAttention(*self._made_of)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net: Any = nn.Identity()  # the extractor's actor gives the logits itself
        made: Any = self.optimizer_class
        self.optimizer = made(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def attention_arguments(city: CityPack) -> dict[str, Any]:
    """`policy_kwargs` for `AttentionPolicy` on a city."""
    return {"layout": layout_of(packed(city)), "feeder_of": city.stations.feeder}
