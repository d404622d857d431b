/** The ground in pixels: one square of the city by day, and its lamps and windows on another canvas. */
import type { Roads, Segment } from "./geo";
import { TILE_PX, lot, type Disc, type Land, type Scenery } from "./land";

export const CHUNK_PX = 512;
const GRASS = ["#6a9a56", "#659551", "#70a05b"];
const FIELDS = ["#a3a658", "#8f9f52", "#b0a562"];
const ROOFS = ["#c2593f", "#d98f52", "#8f9aa8", "#e0c48a", "#5f8f96", "#b7756a", "#a8b0ba"];
const WALLS = ["#efe3cb", "#e4d2b4", "#d8dde3", "#f3ead9"];
const GLASS = ["#7fa6c9", "#8fb3c4", "#9aa7bd"];
const WINDOW = "#ffc25e";
const LAMP_EVERY_PX = 22;

type Context = CanvasRenderingContext2D;
const pick = (list: readonly string[], t: number): string => list[Math.floor(t * list.length) % list.length] as string;

/** Draw the square whose north-west corner is (left, top) in city pixels. */
export function paintChunk(day: Context, lights: Context, land: Land, roads: Roads, left: number, top: number): void {
  for (const c of [day, lights]) c.setTransform(1, 0, 0, 1, -left, -top);
  const first = [Math.floor(left / TILE_PX), Math.floor(top / TILE_PX)] as const;
  const span = CHUNK_PX / TILE_PX;
  const tiles = (below: number, draw: (column: number, row: number, what: Scenery) => void): void => {
    for (let row = first[1]; row < first[1] + span + below; row++) {
      for (let column = first[0]; column < first[0] + span; column++) draw(column, row, land.at(column, row));
    }
  };
  tiles(0, (column, row, what) => paintGround(day, column, row, what));
  for (const disc of land.discs) if (disc.kind === "park") paintDisc(day, disc);
  for (const disc of land.discs) if (disc.kind === "water") paintDisc(day, disc);
  const near = roads.segments.filter((s) => touches(s, left, top));
  for (const s of near) along(s, 0.5, (x, y) => square(day, x, y, s.width + 2, "#9b9482"));
  for (const s of near) along(s, 0.5, (x, y) => square(day, x, y, s.width, s.width >= 6 ? "#474c59" : "#565b67"));
  for (const s of near) if (s.width >= 4) paintMarks(day, s);
  for (const s of near) paintLamps(lights, s);
  tiles(3, (column, row, what) => paintScenery(day, lights, land, column, row, what)); // towers rise over the square's lower rim
}

const touches = (s: Segment, left: number, top: number): boolean =>
  Math.max(s.x0, s.x1) > left - 12 && Math.min(s.x0, s.x1) < left + CHUNK_PX + 12
  && Math.max(s.y0, s.y1) > top - 12 && Math.min(s.y0, s.y1) < top + CHUNK_PX + 12;

function along(s: Segment, every: number, draw: (x: number, y: number, n: number) => void): void {
  const steps = Math.max(Math.ceil(Math.hypot(s.x1 - s.x0, s.y1 - s.y0) / every), 1);
  for (let n = 0; n <= steps; n++) draw(s.x0 + ((s.x1 - s.x0) * n) / steps, s.y0 + ((s.y1 - s.y0) * n) / steps, n);
}

function square(c: Context, x: number, y: number, size: number, color: string): void {
  c.fillStyle = color;
  const corner = size >= 5 ? 1 : 0; // a brush with clipped corners keeps diagonals from growing fat
  const [left, top] = [Math.round(x - size / 2), Math.round(y - size / 2)];
  c.fillRect(left + corner, top, size - 2 * corner, size);
  if (corner) c.fillRect(left, top + corner, size, size - 2 * corner);
}

function paintMarks(c: Context, s: Segment): void {
  along(s, 1, (x, y, n) => {
    if (n % 8 < 4) {
      c.fillStyle = s.width >= 6 ? "#e8d27a" : "#8b909c";
      c.fillRect(Math.round(x - 0.5), Math.round(y - 0.5), 1, 1);
    }
  });
}

function paintLamps(c: Context, s: Segment): void {
  along(s, LAMP_EVERY_PX, (x, y) => {
    const [px, py] = [Math.round(x), Math.round(y)];
    for (const [reach, glow] of [[7, 0.05], [5, 0.08], [3, 0.13]] as const) {
      c.fillStyle = `rgba(255, 184, 96, ${glow})`;
      for (let dy = -reach; dy <= reach; dy++) {
        const half = Math.floor(Math.sqrt(reach * reach + reach - dy * dy));
        c.fillRect(px - half, py + dy, 2 * half + 1, 1);
      }
    }
    if (s.width >= 4) {
      c.fillStyle = "rgba(255, 240, 200, 0.75)";
      c.fillRect(px, py, 1, 1);
    }
  });
}

function paintGround(c: Context, column: number, row: number, what: Scenery): void {
  const [x, y] = [column * TILE_PX, row * TILE_PX];
  if (what === "field") {
    c.fillStyle = pick(FIELDS, lot(column >> 3, row >> 3, 4));
    c.fillRect(x, y, TILE_PX, TILE_PX);
    c.fillStyle = "rgba(70, 80, 30, 0.25)";
    for (let k = 1; k < TILE_PX; k += 3) c.fillRect(x, y + k, TILE_PX, 1);
    return;
  }
  const built = what === "house" || what === "block" || what === "tower";
  c.fillStyle = built ? pick(["#b3ab95", "#aaa48f", "#bab19b"], lot(column, row, 5)) : pick(GRASS, lot(column >> 1, row >> 1, 5));
  c.fillRect(x, y, TILE_PX, TILE_PX);
  if (built) return;
  for (let k = 0; k < 3; k++) {
    c.fillStyle = k === 0 ? "#7fae66" : "#5b8a49";
    c.fillRect(x + Math.floor(lot(column, row, 10 + k) * TILE_PX), y + Math.floor(lot(column, row, 20 + k) * TILE_PX), k === 0 ? 1 : 2, 1);
  }
}

function paintDisc(c: Context, d: Disc): void {
  const fill = (r: number, color: string): void => {
    c.fillStyle = color;
    for (let dy = -Math.floor(r); dy <= r; dy++) {
      const half = Math.floor(Math.sqrt(Math.max(r * r - dy * dy, 0)));
      c.fillRect(Math.round(d.x) - half, Math.round(d.y) + dy, 2 * half, 1);
    }
  };
  if (d.kind === "park") {
    fill(d.r, "#4f8446");
    fill(d.r - 2, "#5c9450");
    return;
  }
  fill(d.r + 2, "#cdb98a");
  fill(d.r, "#3f7fb0");
  fill(d.r - 3, "#4a93c4");
  fill(d.r * 0.6, "#458bbd");
  c.fillStyle = "#a5d4ea";
  for (let k = 0; k < d.r; k++) {
    const angle = lot(k, Math.round(d.x), 6) * 2 * Math.PI;
    const far = Math.sqrt(lot(k, Math.round(d.y), 7)) * (d.r - 6);
    c.fillRect(Math.round(d.x + far * Math.cos(angle)), Math.round(d.y + far * Math.sin(angle)), 3, 1);
  }
}

function paintScenery(day: Context, lights: Context, land: Land, column: number, row: number, what: Scenery): void {
  const [x, y] = [column * TILE_PX, row * TILE_PX];
  const draw = (n: number): number => lot(column, row, n);
  if (what === "tree") return paintTree(day, x + Math.floor(draw(30) * 3), y + Math.floor(draw(31) * 2), draw(32));
  if (what === "house") return paintHouse(day, lights, x, y, draw);
  if (what !== "block" && what !== "tower") return;
  const above = land.at(column, row - 1);
  const room = above === "road" || above === "water" ? 0 : 1;
  const rise = what === "tower" ? Math.floor(4 + 10 * draw(33)) * room : Math.floor(4 * draw(33)) * room;
  const wall = what === "tower" ? pick(GLASS, draw(34)) : pick(WALLS, draw(34));
  day.fillStyle = "rgba(20, 25, 40, 0.35)";
  day.fillRect(x + 2, y + 6, 7, 2);
  day.fillStyle = "#2d3442";
  day.fillRect(x, y - rise, 8, 8 + rise - 1);
  day.fillStyle = wall;
  day.fillRect(x + 1, y - rise + 1, 6, 5 + rise);
  day.fillStyle = "rgba(20, 30, 60, 0.22)";
  day.fillRect(x + 5, y - rise + 3, 2, 3 + rise);
  day.fillStyle = pick(ROOFS, draw(35));
  day.fillRect(x + 1, y - rise + 1, 6, 2);
  for (let wy = y - rise + 4; wy < y + 5; wy += 2) {
    for (const wx of [x + 2, x + 4]) {
      day.fillStyle = what === "tower" ? "#4d6f93" : "#7c7a72";
      day.fillRect(wx, wy, 1, 1);
      if (lot(wx, wy, 36) < 0.42) {
        lights.fillStyle = lot(wx, wy, 37) < 0.8 ? WINDOW : "#a8e0ff";
        lights.fillRect(wx, wy, 1, 1);
      }
    }
  }
}

function paintHouse(day: Context, lights: Context, x: number, y: number, draw: (n: number) => number): void {
  const roof = pick(ROOFS, draw(40));
  day.fillStyle = "rgba(20, 25, 40, 0.3)";
  day.fillRect(x + 2, y + 6, 6, 2);
  day.fillStyle = "#3b3a3e";
  day.fillRect(x, y + 1, 7, 6);
  day.fillStyle = pick(WALLS, draw(41));
  day.fillRect(x + 1, y + 4, 5, 2);
  day.fillStyle = roof;
  day.fillRect(x + 1, y + 1, 5, 3);
  day.fillStyle = "rgba(255, 255, 255, 0.28)";
  day.fillRect(x + 1, y + 1, 5, 1);
  day.fillStyle = "#6b5440";
  day.fillRect(x + 2, y + 5, 1, 1);
  if (draw(42) < 0.5) {
    lights.fillStyle = WINDOW;
    lights.fillRect(x + 4, y + 4, 1, 1);
  }
}

function paintTree(c: Context, x: number, y: number, t: number): void {
  const leaf = pick(["#3f7a3c", "#35703f", "#548a3a"], t);
  c.fillStyle = "rgba(20, 30, 20, 0.3)";
  c.fillRect(x + 1, y + 5, 5, 2);
  c.fillStyle = "#27502c";
  c.fillRect(x + 1, y, 3, 6);
  c.fillRect(x, y + 1, 5, 4);
  c.fillStyle = leaf;
  c.fillRect(x + 1, y + 1, 3, 3);
  c.fillStyle = "rgba(220, 255, 170, 0.45)";
  c.fillRect(x + 1, y + 1, 2, 1);
}
