/** From degrees to the pixels of the drawn city and back, and where roads are. Pure: no canvas, no Phaser. */
import type { CityFacts, LonLat } from "../api/types";

/** One art pixel in metres: a road of the pack is some hundred pixels long, a car a dozen. */
export const METRES_PER_PX = 16;
const METRES_PER_DEGREE = 111_195;
const MARGIN_PX = 160;
/** Directions that a car is drawn in. */
export const HEADINGS = 16;
/** Width of a road in pixels, by class. */
export const ROAD_PX: Record<string, number> = { expressway: 8, trunk: 7, primary: 6, secondary: 4, tertiary: 3 };
export const roadWidth = (kind: string): number => ROAD_PX[kind] ?? 3;

/** Equirectangular about the middle of the city: x east and y south, in art pixels from the north-west corner. */
export class Projection {
  readonly width: number;
  readonly height: number;
  private readonly west: number;
  private readonly north: number;
  private readonly perLon: number;
  private readonly perLat = METRES_PER_DEGREE / METRES_PER_PX;

  constructor(city: Pick<CityFacts, "stations" | "roads" | "places">) {
    const points: LonLat[] = [...city.stations.map((s) => s.at), ...city.roads.flatMap((r) => r.path), ...city.places.map((p) => p.at)];
    let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [lon, lat] of points) {
      west = Math.min(west, lon);
      east = Math.max(east, lon);
      south = Math.min(south, lat);
      north = Math.max(north, lat);
    }
    this.perLon = this.perLat * Math.cos((((south + north) / 2) * Math.PI) / 180);
    this.west = west - MARGIN_PX / this.perLon;
    this.north = north + MARGIN_PX / this.perLat;
    this.width = Math.ceil((east - west) * this.perLon) + 2 * MARGIN_PX;
    this.height = Math.ceil((north - south) * this.perLat) + 2 * MARGIN_PX;
  }

  x(lon: number): number {
    return (lon - this.west) * this.perLon;
  }
  y(lat: number): number {
    return (this.north - lat) * this.perLat;
  }
  lon(x: number): number {
    return this.west + x / this.perLon;
  }
  lat(y: number): number {
    return this.north - y / this.perLat;
  }
}

/** Which of the drawn directions points along (dx, dy): 0 is east, then clockwise as y goes down. */
export function headingOf(dx: number, dy: number): number {
  return (Math.round((Math.atan2(dy, dx) / (2 * Math.PI)) * HEADINGS) + HEADINGS) % HEADINGS;
}

export interface Segment { x0: number; y0: number; x1: number; y1: number; width: number; kind: string }

const BIN_PX = 128;

/** The roads as straight pieces in pixels, found by place. */
export class Roads {
  readonly segments: Segment[] = [];
  private readonly bins = new Map<string, number[]>();

  constructor(city: Pick<CityFacts, "roads">, p: Projection) {
    for (const road of city.roads) {
      for (let k = 0; k + 1 < road.path.length; k++) {
        const [a, b] = [road.path[k] as LonLat, road.path[k + 1] as LonLat];
        this.add({ x0: p.x(a[0]), y0: p.y(a[1]), x1: p.x(b[0]), y1: p.y(b[1]), width: roadWidth(road.class), kind: road.class });
      }
    }
  }

  private add(s: Segment): void {
    const n = this.segments.push(s) - 1;
    const steps = Math.ceil(Math.hypot(s.x1 - s.x0, s.y1 - s.y0) / (BIN_PX / 4)) + 1;
    const seen = new Set<string>();
    for (let k = 0; k <= steps; k++) {
      const x = s.x0 + ((s.x1 - s.x0) * k) / steps;
      const y = s.y0 + ((s.y1 - s.y0) * k) / steps;
      seen.add(`${Math.floor(x / BIN_PX)} ${Math.floor(y / BIN_PX)}`);
    }
    for (const key of seen) this.bins.set(key, [...(this.bins.get(key) ?? []), n]);
  }

  /** The road at a place, by the nearest piece within the bins about it; null in the open. */
  nearest(x: number, y: number): Segment | null {
    let best: Segment | null = null;
    let least = Infinity;
    const [cx, cy] = [Math.floor(x / BIN_PX), Math.floor(y / BIN_PX)];
    for (let i = cx - 1; i <= cx + 1; i++) {
      for (let j = cy - 1; j <= cy + 1; j++) {
        for (const n of this.bins.get(`${i} ${j}`) ?? []) {
          const s = this.segments[n] as Segment;
          const d = distanceTo(s, x, y);
          if (d < least) [best, least] = [s, d];
        }
      }
    }
    return best;
  }

  /** The direction of a car that has not moved yet: along its road, on the side of where it goes. */
  headingToward(x: number, y: number, toX: number, toY: number): number {
    const road = this.nearest(x, y);
    const [gx, gy] = [toX - x, toY - y];
    if (!road) return headingOf(gx, gy);
    const [dx, dy] = [road.x1 - road.x0, road.y1 - road.y0];
    return dx * gx + dy * gy >= 0 ? headingOf(dx, dy) : headingOf(-dx, -dy);
  }
}

export function distanceTo(s: Segment, x: number, y: number): number {
  const [dx, dy] = [s.x1 - s.x0, s.y1 - s.y0];
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.min(Math.max(((x - s.x0) * dx + (y - s.y0) * dy) / length, 0), 1) : 0;
  return Math.hypot(x - s.x0 - t * dx, y - s.y0 - t * dy);
}
