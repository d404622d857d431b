/** Stations, their glow and queue, feeders and what strains: drawn from the state of a tick. */
import * as Phaser from "phaser";
import type { LaneName, State } from "../api/types";
import { feederLoad } from "../map/scales";
import { stationRows, type StationRow } from "../map/stationData";
import type { FrameSource } from "../replay/source";
import type { Rgb } from "../theme/palettes";
import type { Projection } from "./geo";
import { carTexture, glowTexture, stationTexture } from "./sprites";

const QUEUE_SHOWN = 6;
const PULSE_MS = 1600;
const RING_PX = 46;
const hex = (c: Rgb): number => (c[0] << 16) | (c[1] << 8) | c[2];
const STRESS = 0xff6a3d;

interface Spot { x: number; y: number }
interface Look { glow: Phaser.GameObjects.Image; house: Phaser.GameObjects.Image; queue: Phaser.GameObjects.Image[] }

/** A station has more cars than usable slots, or cars and no slot. */
export const stationStrained = (row: Pick<StationRow, "occupied" | "queued" | "slotsUp">): boolean =>
  row.occupied + row.queued > row.slotsUp;
/** A feeder carries its limit of the moment, or its rating where it has none. */
export const feederStrained = (load: number | null | undefined, limit: number | null | undefined): boolean =>
  (load ?? 0) >= (limit ?? 1);

export class Power {
  rows: StationRow[] = [];
  strainedStations: Spot[] = [];
  strainedFeeders: number[] = [];
  readonly spots: Spot[];
  private readonly looks: Look[];
  private readonly middles: Spot[];
  private readonly wires: Phaser.GameObjects.Graphics;
  private readonly pulses: Phaser.GameObjects.Graphics;
  private shown: State | null = null;

  constructor(scene: Phaser.Scene, private readonly source: FrameSource, ground: Projection) {
    const { stations, feeders } = source.city;
    this.spots = stations.map((s) => ({ x: ground.x(s.at[0]), y: ground.y(s.at[1]) }));
    this.middles = feeders.map((_, f) => {
      const mine = this.spots.filter((_spot, k) => stations[k]?.feeder === f);
      const n = Math.max(mine.length, 1);
      return { x: mine.reduce((a, s) => a + s.x, 0) / n, y: mine.reduce((a, s) => a + s.y, 0) / n };
    });
    this.wires = scene.add.graphics().setDepth(20);
    this.pulses = scene.add.graphics().setDepth(35);
    this.looks = this.spots.map(({ x, y }) => ({
      glow: scene.add.image(x, y, glowTexture(0)).setDepth(30).setBlendMode(Phaser.BlendModes.ADD),
      house: scene.add.image(x, y, stationTexture("free")).setDepth(50 + y / 1e6).setOrigin(0.5, 0.6),
      queue: Array.from({ length: QUEUE_SHOWN }, (_, k) =>
        scene.add.image(x - 10 + 11 * (k % 3), y + 21 + 9 * Math.floor(k / 3), carTexture("request", false), 12).setDepth(49).setScale(0.75).setVisible(false)),
    }));
    this.middles.forEach((m, f) => {
      if (stations.filter((s) => s.feeder === f).length > 1) scene.add.image(m.x, m.y, "pylon").setDepth(48).setOrigin(0.5, 0.9);
    });
  }

  /** Another state: true where it was not yet shown. */
  update(lane: LaneName): boolean {
    const state = this.source.state(lane);
    if (!state || state === this.shown) return false;
    this.shown = state;
    const { stations, feeders } = this.source.city;
    this.rows = stationRows(this.source.city, state);
    this.strainedStations = this.spots.filter((_, k) => stationStrained(this.rows[k] as StationRow));
    this.strainedFeeders = feeders.map((_, f) => f).filter((f) => feederStrained(state.feeder_load_pct[f], state.feeder_limit_pct[f]));
    this.rows.forEach((row, k) => {
      const look = this.looks[k] as Look;
      look.house.setTexture(stationTexture(row.state));
      look.glow.setTexture(glowTexture(row.load)).setVisible(row.state !== "down").setScale(0.6 + 0.6 * Math.min(row.load, 1.5));
      look.queue.forEach((car, n) => car.setVisible(n < row.queued));
    });
    this.wires.clear();
    stations.forEach((s, k) => {
      const [a, b] = [this.spots[k] as Spot, this.middles[s.feeder] as Spot];
      const strained = this.strainedFeeders.includes(s.feeder);
      this.wires.lineStyle(strained ? 2 : 1, hex(feederLoad.color(state.feeder_load_pct[s.feeder] ?? 0)), strained ? 0.95 : 0.65);
      this.wires.lineBetween(a.x, a.y, b.x, b.y - 14);
    });
    return true;
  }

  /** Pulses of what is strained; `calm` people see a ring that stands still. */
  pulse(now: number, glow: number, calm: boolean): void {
    const beat = calm ? 0.5 : (now % PULSE_MS) / PULSE_MS;
    this.pulses.clear();
    for (const spot of this.strainedStations) {
      for (const share of calm ? [0.5] : [beat, (beat + 0.5) % 1]) {
        this.pulses.lineStyle(2, STRESS, 0.9 * (1 - share) + (calm ? 0.3 : 0));
        this.pulses.strokeCircle(spot.x, spot.y, 14 + RING_PX * share);
      }
    }
    this.source.city.stations.forEach((s, k) => {
      if (!this.strainedFeeders.includes(s.feeder)) return;
      const [from, to] = [this.middles[s.feeder] as Spot, this.spots[k] as Spot];
      for (const share of calm ? [0.5] : [beat, (beat + 0.33) % 1, (beat + 0.66) % 1]) {
        this.pulses.fillStyle(0xfff2a8, 0.95);
        this.pulses.fillRect(from.x + (to.x - from.x) * share - 1.5, from.y - 14 + (to.y - from.y + 14) * share - 1.5, 3, 3);
      }
    });
    const breath = calm ? 0 : 0.08 * Math.sin((2 * Math.PI * now) / PULSE_MS);
    this.looks.forEach((look, k) => look.glow.setAlpha(glow + ((this.rows[k]?.load ?? 0) > 1 ? breath : 0)));
  }
}
