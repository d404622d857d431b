/** Draws the store on both maps: layers when something changes, cars alone in every frame of play. */
import { effect } from "@preact/signals";
import type { Layer, PickingInfo } from "@deck.gl/core";
import { LANES, type CityFacts, type LaneName, type State } from "../api/types";
import { CarBuffers, movingBetween, placeOf } from "../replay/cars";
import * as s from "../state/store";
import type { Rgb } from "../theme/palettes";
import { currentGround } from "../theme/theme";
import { GROUNDS } from "./basemap";
import { describe, selectionOf } from "./describe";
import { gameState } from "./gameState";
import { link, MapHost } from "./host";
import { carColor, carLayer, differenceLayers, routeLayer, stationLayers } from "./layers";

const FALLBACK_MS = 3000;

export class Stage {
  readonly hosts: Record<LaneName, MapHost>;
  readonly buffers: Record<LaneName, CarBuffers> = { baseline: new CarBuffers(), oracle: new CarBuffers() };
  private fixed: Record<LaneName, Partial<Record<string, Layer[]>>> = { baseline: {}, oracle: {} };
  private shownAt = -1;
  private readonly ends: (() => void)[] = [];
  /** Milliseconds of the page's own work in the last frames, for the benchmark. */
  readonly frameMs: number[] = [];

  constructor(elements: Record<LaneName, HTMLElement>, private readonly city: CityFacts) {
    const ground = GROUNDS[currentGround()];
    const make = (lane: LaneName): MapHost => new MapHost(
      elements[lane], city, ground, s.layers.value.labels.on, s.camera.value, {
        pick: (info) => this.pick(info, lane),
        hover: (info) => this.hover(info, lane),
        lost: () => this.lost(),
        restored: () => this.restored(),
      },
    );
    this.hosts = { baseline: make("baseline"), oracle: make("oracle") };
    link(this.hosts.baseline, this.hosts.oracle, (camera) => {
      s.camera.value = camera;
    });
    let groundShown = `${currentGround()} ${s.layers.value.labels.on}`;
    this.ends.push(effect(() => {
      const key = `${currentGround()} ${s.layers.value.labels.on}`;
      if (key === groundShown) return;
      groundShown = key;
      for (const lane of LANES) this.hosts[lane].setGround(GROUNDS[currentGround()], s.layers.value.labels.on);
    }));
    this.ends.push(effect(() => {
      void [s.at.value, s.version.value, s.book.value, s.layers.value, s.layerOrder.value, s.selection.value,
        s.mode.value, s.judge.value, s.game.value, currentGround(), s.follow.value];
      this.rebuild();
    }));
    this.ends.push(s.clock.listen(() => this.frame()));
    this.ends.push(effect(() => {
      void s.mode.value;
      setTimeout(() => LANES.forEach((lane) => this.hosts[lane].map.resize()), 0);
    }));
  }

  private text(): Rgb {
    return currentGround() === "light" ? [20, 26, 36] : [255, 255, 255];
  }

  private state(lane: LaneName): State | null {
    if (s.judge.value && s.game.value) return gameState(s.game.value, this.city);
    return s.book.value?.state(lane, s.at.value) ?? null;
  }

  /** Everything but the cars' places. */
  private rebuild(): void {
    const book = s.book.value;
    for (const lane of LANES) {
      const state = this.state(lane);
      this.fixed[lane] = state ? stationLayers(this.city, state, s.layers.value, s.selection.value, this.text()) : {};
      this.buffers[lane].use(
        book && !s.judge.value ? movingBetween(book, lane, s.at.value) : [], carColor,
      );
    }
    this.shownAt = s.at.value;
    if (s.mode.value === "diff" && book && !s.judge.value) {
      const a = book.state("baseline", s.at.value);
      const b = book.state("oracle", s.at.value);
      this.fixed.oracle = { stations: differenceLayers(this.city, a, b, this.text()) };
      this.buffers.oracle.use([], carColor);
    }
    this.frame();
  }

  /** The cars of a frame; the only work while a tick plays. */
  frame(): void {
    const began = performance.now();
    if (Math.floor(s.clock.position + 1e-9) !== this.shownAt && s.book.value) {
      s.position.value = s.clock.position; // the tick boundary was passed: what depends on it is made anew
      if (Math.floor(s.clock.position + 1e-9) !== this.shownAt) return;
    }
    const minute = s.clock.position * this.city.step_minutes;
    for (const lane of LANES) {
      const buffers = this.buffers[lane];
      buffers.fill(minute);
      const parts: Partial<Record<string, Layer[]>> = {
        ...this.fixed[lane],
        routes: [routeLayer(buffers.cars, minute, s.layers.value, s.follow.value)],
        cars: [carLayer(buffers, s.layers.value)],
      };
      this.hosts[lane].setLayers(s.layerOrder.value.flatMap((id) => parts[id] ?? []));
    }
    this.followCar(minute);
    this.frameMs.push(performance.now() - began);
    if (this.frameMs.length > 600) this.frameMs.shift();
  }

  private followCar(minute: number): void {
    const id = s.follow.value;
    if (!id) return;
    const car = this.buffers[s.lane.value].cars.find((c) => c.id === id && c.depart <= minute && minute < c.eta);
    if (car) this.hosts[s.lane.value].map.jumpTo({ center: placeOf(car.route, minute) });
  }

  private pick(info: PickingInfo, lane: LaneName): void {
    const found = selectionOf(info, this.buffers[lane]);
    s.selection.value = found;
    if (found) s.lane.value = lane;
    s.follow.value = found?.kind === "car" ? found.id : null;
    if (found?.kind === "station") s.panel.value = "stations";
    if (found?.kind === "feeder") s.panel.value = "grid";
  }

  private hover(info: PickingInfo, lane: LaneName): void {
    const lines = describe(info, this.buffers[lane], this.city);
    const box = this.hosts[lane].element.getBoundingClientRect();
    s.hover.value = lines ? { x: box.left + info.x, y: box.top + info.y, lines } : null;
  }

  private lostTimer: ReturnType<typeof setTimeout> | undefined;
  private lost(): void {
    this.lostTimer = setTimeout(() => {
      s.noMap.value = true;
      s.say("The browser took the map's graphics away; lists stand in for it.", "warn");
    }, FALLBACK_MS - 500);
  }
  private restored(): void {
    clearTimeout(this.lostTimer);
    s.noMap.value = false;
    this.rebuild();
  }

  remove(): void {
    this.ends.forEach((end) => end());
    LANES.forEach((lane) => this.hosts[lane].remove());
  }
}
