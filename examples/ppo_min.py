"""MaskablePPO on `EVGrid-v0` in one page.

    python examples/ppo_min.py --steps 50000

Needs the `gym` and `train` extras. `benchmarks/learn_gym.py` is the same with a network made for the task and a comparison.
"""

from __future__ import annotations

import argparse

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy

from ev_grid_oracle.interfaces.sb3_env import SB3VecEnv


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--episodes", type=int, default=32)
    args = parser.parse_args()

    env = SB3VecEnv(16, city=args.city)
    env.seed(1)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=96,
        batch_size=256,
        gamma=0.95,
        ent_coef=0.003,
        seed=1,
        device="cpu",
        verbose=1,
    )
    model.learn(args.steps)

    held_out = SB3VecEnv(16, city=args.city)
    held_out.seed(2)
    mean, spread = evaluate_policy(model, held_out, n_eval_episodes=args.episodes, warn=False)
    print(f"mean episode reward {mean:.2f}, standard deviation {spread:.2f}, {args.episodes} episodes")


if __name__ == "__main__":
    main()
