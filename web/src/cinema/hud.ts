/** The words around the picture: an accessible frame of plain elements over the canvas. */
import type { LaneName } from "../api/types";
import { KINDS, stationLoad } from "../map/scales";
import type { FrameSource } from "../replay/source";
import { css } from "../theme/palettes";
import type { Told } from "./scene";

export interface HudActions { close(): void; lane(lane: LaneName): void; follow(): void; zoom(steps: number): void }

const TITLES: Record<LaneName, string> = { baseline: "Baseline", oracle: "Oracle" };
const time = (minute: number): string => {
  const m = ((Math.floor(minute + 1e-6) % 1440) + 1440) % 1440;
  return `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;
};

function element<K extends keyof HTMLElementTagNameMap>(
  name: K, className: string, text = "", ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  made.append(...inside);
  return made;
}

function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const made = element("button", "", text);
  made.type = "button";
  made.title = label;
  if (text.length < 3) made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

/** Colours as the film draws them, from the scale of the maps. */
function legend(): HTMLElement {
  const stops = stationLoad.ticks.map((t) => `${css(stationLoad.color(t))} ${(100 * (t - stationLoad.low)) / (stationLoad.high - stationLoad.low)}%`);
  const bar = element("span", "cinema-bar");
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const kinds = Object.values(KINDS).map((kind) => {
    const dot = element("i", "");
    dot.style.background = css(kind.color);
    return element("span", "cinema-kind", "", dot, kind.label);
  });
  const ends = element("small", "", `${stationLoad.format(stationLoad.low)} – ${stationLoad.format(stationLoad.high)}`);
  return element(
    "div", "cinema-legend", "", element("span", "", `${stationLoad.title} `), bar, ends, ...kinds,
    element("span", "cinema-stress", "◯ more cars than slots  ▪ feeder at its limit"),
    element("small", "cinema-note", "Houses, trees and shores are scenery, wires a scheme."),
  );
}

export class Hud {
  readonly picture = element("div", "cinema-picture");
  private readonly clock = element("output", "cinema-clock");
  private readonly state = element("p", "cinema-state");
  private readonly following = element("p", "cinema-following");
  private readonly badge = element("span", "cinema-badge");
  private readonly lanes: Record<LaneName, HTMLButtonElement>;
  private readonly followButton: HTMLButtonElement;

  constructor(readonly dialog: HTMLDialogElement, private readonly source: FrameSource, act: HudActions) {
    const laneButton = (lane: LaneName, key: string): HTMLButtonElement => button(TITLES[lane], `Show the ${lane} (${key})`, () => act.lane(lane));
    this.lanes = { baseline: laneButton("baseline", "A"), oracle: laneButton("oracle", "B") };
    this.followButton = button("Follow", "Follow the nearest car (F)", act.follow);
    this.following.setAttribute("role", "status");
    const group = element("div", "cinema-lanes", "", this.lanes.baseline, this.lanes.oracle);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Lane");
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", "Pixel-art city with its cars and charging stations");
    const title = element("div", "cinema-title", "", element("h2", "", source.city.name), this.clock, group, this.badge, this.state);
    const tools = element(
      "div", "cinema-tools", "", this.followButton, button("+", "Nearer", () => act.zoom(1)), button("−", "Farther", () => act.zoom(-1)),
      button("Close", "Close the cinema (Esc)", act.close),
    );
    const keys = element("p", "cinema-keys");
    for (const [key, what] of [["Space", "play"], ["← →", "tick"], ["A B", "lane"], ["F", "follow"], ["+ −", "zoom"], ["Esc", "close"]]) {
      keys.append(element("kbd", "", key), ` ${what} `);
    }
    dialog.append(this.picture, title, tools, element("div", "cinema-foot", "", this.following, legend(), keys));
  }

  update(lane: LaneName, told: Told): void {
    const state = this.source.state(lane);
    this.put(this.clock, time(this.source.minuteOfDay()));
    for (const name of this.source.lanes) this.lanes[name].setAttribute("aria-pressed", String(name === lane));
    const label = this.source.event()?.lanes[lane].badge.label ?? "";
    this.put(this.badge, label);
    this.badge.hidden = label === "";
    const percent = (v: number): string => `${Math.round(v * 100)} %`;
    this.put(this.state, state
      ? `tick ${Math.floor(this.source.position() + 1e-9)} of ${this.source.length()} · grid ${percent(state.grid_load_pct)} · renewable ${percent(state.renewable_frac)} · ${told.cars} cars on the road`
      : "No session yet: close this and press New.");
    const car = told.following ? this.source.cars(lane).find((c) => c.id === told.following) : undefined;
    const station = this.source.city.stations.find((s) => s.id === car?.station);
    this.put(this.following, car
      ? `Following ${car.id}, on its way to ${station?.name ?? car.station}${car.rerouted ? " (rerouted)" : ""}`
      : told.left ? `${told.left} is no longer on the road.` : "");
    this.followButton.setAttribute("aria-pressed", String(told.following !== null));
  }

  private put(where: HTMLElement, text: string): void {
    if (where.textContent !== text) where.textContent = text;
  }
}
