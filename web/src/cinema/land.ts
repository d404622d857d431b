/**
 * What stands where there is no road: a grid of tiles, each with scenery drawn by lot from its own number.
 *
 * Roads, water and parks are the city's; houses and trees are scenery, and the caption says so. Pure, so that the same
 * city looks the same every time.
 */
import type { CityFacts } from "../api/types";
import type { Projection, Roads } from "./geo";
import { METRES_PER_PX } from "./geo";

export const TILE_PX = 8;
/** As on the maps: a lake or park has a place and a rank only and is a disc of this radius in metres. */
const RADIUS_M: Record<number, number> = { 1: 700, 2: 450, 3: 300 };
const FAR = 255;
/** Pixels from a big locality's middle within which towers stand. */
const CORE_PX = 120;

export type Scenery = "road" | "water" | "park" | "grass" | "tree" | "field" | "house" | "block" | "tower";
export interface Disc { x: number; y: number; r: number; kind: "water" | "park" }

/** A number in 0 to 1 that belongs to two whole numbers and a purpose. */
export function lot(x: number, y: number, purpose: number): number {
  let h = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca77) ^ Math.imul(purpose + 1, 0xc2b2ae3d);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) / 4294967296;
}

export class Land {
  readonly columns: number;
  readonly rows: number;
  readonly discs: Disc[];
  /** Tiles to the nearest road. */
  private readonly away: Uint8Array;
  private readonly covered: Uint8Array;
  private readonly cores: { x: number; y: number }[];

  constructor(city: Pick<CityFacts, "places">, p: Projection, roads: Roads) {
    this.columns = Math.ceil(p.width / TILE_PX);
    this.rows = Math.ceil(p.height / TILE_PX);
    this.away = new Uint8Array(this.columns * this.rows).fill(FAR);
    this.covered = new Uint8Array(this.columns * this.rows);
    this.discs = city.places.filter((q) => q.kind === "water" || q.kind === "park").map((q): Disc => ({
      x: p.x(q.at[0]), y: p.y(q.at[1]), r: (RADIUS_M[q.rank] ?? 300) / METRES_PER_PX, kind: q.kind === "water" ? "water" : "park",
    }));
    this.cores = city.places.filter((q) => q.kind === "locality" && q.rank === 1).map((q) => ({ x: p.x(q.at[0]), y: p.y(q.at[1]) }));
    this.coverDiscs();
    this.spread(this.markRoads(roads));
  }

  private index(column: number, row: number): number {
    return column < 0 || row < 0 || column >= this.columns || row >= this.rows ? -1 : row * this.columns + column;
  }

  private coverDiscs(): void {
    for (const d of this.discs) {
      const reach = d.r + TILE_PX / 2;
      for (let row = Math.floor((d.y - reach) / TILE_PX); row * TILE_PX < d.y + reach; row++) {
        for (let column = Math.floor((d.x - reach) / TILE_PX); column * TILE_PX < d.x + reach; column++) {
          const k = this.index(column, row);
          const inside = Math.hypot((column + 0.5) * TILE_PX - d.x, (row + 0.5) * TILE_PX - d.y) < reach;
          if (k >= 0 && inside) this.covered[k] = d.kind === "water" ? 1 : 2;
        }
      }
    }
  }

  private markRoads(roads: Roads): number[] {
    const marked: number[] = [];
    for (const s of roads.segments) {
      const half = s.width / 2 + 1;
      const steps = Math.ceil(Math.hypot(s.x1 - s.x0, s.y1 - s.y0) / 3) + 1;
      for (let n = 0; n <= steps; n++) {
        const x = s.x0 + ((s.x1 - s.x0) * n) / steps;
        const y = s.y0 + ((s.y1 - s.y0) * n) / steps;
        for (const [dx, dy] of [[-half, -half], [half, -half], [-half, half], [half, half]] as const) {
          const k = this.index(Math.floor((x + dx) / TILE_PX), Math.floor((y + dy) / TILE_PX));
          if (k < 0 || this.away[k] === 0) continue;
          this.away[k] = 0;
          marked.push(k);
        }
      }
    }
    return marked;
  }

  /** Breadth first from the roads. */
  private spread(from: number[]): void {
    for (let at = 0; at < from.length; at++) {
      const k = from[at] as number;
      const next = (this.away[k] as number) + 1;
      if (next >= FAR) continue;
      const [column, row] = [k % this.columns, Math.floor(k / this.columns)];
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
        const other = this.index(column + dx, row + dy);
        if (other >= 0 && this.away[other] === FAR) {
          this.away[other] = next;
          from.push(other);
        }
      }
    }
  }

  /** What is drawn on a tile. */
  at(column: number, row: number): Scenery {
    const k = this.index(column, row);
    if (k < 0) return "grass";
    if (this.away[k] === 0) return "road";
    if (this.covered[k] === 1) return "water";
    if (this.covered[k] === 2) return lot(column, row, 2) < 0.45 ? "tree" : "park";
    const away = this.away[k] as number;
    const draw = lot(column, row, 0);
    const core = this.cores.some((c) => Math.hypot(c.x - column * TILE_PX, c.y - row * TILE_PX) < CORE_PX * (0.6 + 0.6 * lot(column >> 2, row >> 2, 1)));
    if (core) return draw < 0.34 ? "tower" : draw < 0.68 ? "block" : draw < 0.8 ? "house" : draw < 0.9 ? "tree" : "grass";
    if (away <= 3) return draw < 0.42 ? "house" : draw < 0.6 ? "block" : draw < 0.75 ? "tree" : "grass";
    if (away <= 9) return draw < 0.4 ? "house" : draw < 0.46 ? "block" : draw < 0.66 ? "tree" : "grass";
    if (lot(column >> 3, row >> 3, 3) < 0.4) return "field";
    return draw < 0.1 ? "house" : draw < 0.35 ? "tree" : "grass";
  }
}
