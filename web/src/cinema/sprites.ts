/** Cars, stations, pylons and glows, drawn in code into textures: no picture is fetched. */
import type * as Phaser from "phaser";
import { KINDS, STATES, stationLoad, type StationState } from "../map/scales";
import { css, type Rgb } from "../theme/palettes";
import { HEADINGS } from "./geo";

export type CarKind = keyof typeof KINDS;
export const CAR_FRAME_PX = 32;
export const STATION_PX = 28;
/** Shades that a glow is drawn in, along the same scale as the maps' stations. */
const GLOW_STEPS = 12;
const GLOW_PX = 128;

/** A car seen from above, its nose to the right: k outline, B body, g glass, y lamp, r tail lamp. */
const CAR = [
  "..kk....kk..",
  ".kkkkkkkkkk.",
  "kBBBBBBBBBBk",
  "rBggHHHHgBBy",
  "kBggHHHHgBBk",
  "rBggHHHHgBBy",
  "kBBBBBBBBBBk",
  ".kkkkkkkkkk.",
  "..kk....kk..",
];

const canvas = (width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] => {
  const made = document.createElement("canvas");
  made.width = width;
  made.height = height;
  return [made, made.getContext("2d") as CanvasRenderingContext2D];
};
const lighter = (c: Rgb, t: number): Rgb => c.map((v) => Math.round(v + t * (255 - v))) as unknown as Rgb;

/** Colour of the point (x, y) of the unturned car, from its middle; null where there is nothing. */
function carPoint(body: Rgb, lit: boolean, x: number, y: number): string | null {
  const column = Math.floor(x + 6);
  const row = Math.floor(y + 4.5);
  const mark = CAR[row]?.[column] ?? ".";
  if (column >= 0 && mark !== ".") {
    if (mark === "B") return css(row <= 2 ? lighter(body, 0.35) : body);
    if (mark === "H") return css(lighter(body, 0.6));
    if (mark === "g") return "#1c2a3d";
    if (mark === "y") return "#fff6c2";
    return mark === "r" ? "#e0402f" : "#10151f";
  }
  const ahead = x - 6;
  if (lit && ahead >= 0 && ahead < 9 && Math.abs(y) < 2.5 + ahead * 0.35) return `rgba(255, 240, 170, ${0.42 - 0.042 * ahead})`;
  return null;
}

function carSheet(body: Rgb, lit: boolean): HTMLCanvasElement {
  const [sheet, c] = canvas(CAR_FRAME_PX * HEADINGS, CAR_FRAME_PX);
  for (let k = 0; k < HEADINGS; k++) {
    const angle = (k / HEADINGS) * 2 * Math.PI;
    for (let py = 0; py < CAR_FRAME_PX; py++) {
      for (let px = 0; px < CAR_FRAME_PX; px++) {
        const [dx, dy] = [px - CAR_FRAME_PX / 2 + 0.5, py - CAR_FRAME_PX / 2 + 0.5];
        const color = carPoint(body, lit, dx * Math.cos(angle) + dy * Math.sin(angle), dy * Math.cos(angle) - dx * Math.sin(angle));
        if (color === null) continue;
        c.fillStyle = color;
        c.fillRect(k * CAR_FRAME_PX + px, py, 1, 1);
      }
    }
  }
  return sheet;
}

/** The sign over a station: its state by shape, as on the maps. Inside of the shape by distance from its middle. */
const SIGNS: Record<string, (dx: number, dy: number) => boolean> = {
  circle: (dx, dy) => Math.hypot(dx, dy) < 4.6,
  square: (dx, dy) => Math.max(Math.abs(dx), Math.abs(dy)) < 4,
  diamond: (dx, dy) => Math.abs(dx) + Math.abs(dy) < 5,
  triangle: (dx, dy) => dy < 4 && dy > -5 && Math.abs(dx) < (dy + 5) * 0.55,
  cross: (dx, dy) => Math.min(Math.abs(dx - dy), Math.abs(dx + dy)) < 2 && Math.max(Math.abs(dx), Math.abs(dy)) < 4.6,
};

function stationPicture(state: StationState): HTMLCanvasElement {
  const [made, c] = canvas(STATION_PX, STATION_PX + 8);
  const rect = (color: string, x: number, y: number, w: number, h: number): void => {
    c.fillStyle = color;
    c.fillRect(x, y, w, h);
  };
  const dead = state === "down";
  rect("#10151f", 0, 20, 28, 16); // the yard
  rect("#4c5361", 1, 21, 26, 14);
  for (const x of [3, 10, 17, 24]) rect("#d9dee6", x, 29, 1, 6);
  for (const x of [5, 12, 19]) { // chargers
    rect("#10151f", x, 23, 4, 7);
    rect(dead ? "#8a8f99" : "#eef3f8", x + 1, 24, 2, 5);
    rect(dead ? "#5b2020" : "#38e08a", x + 1, 24, 2, 1);
  }
  rect("#10151f", 0, 11, 28, 12); // the roof, with panels
  rect(dead ? "#7b818c" : "#f4f7fb", 1, 12, 26, 10);
  for (const x of [3, 10, 17]) {
    rect("#1d3f73", x, 14, 6, 6);
    rect("#4f86cf", x, 14, 6, 1);
    rect("#2b5aa0", x + 3, 15, 1, 5);
  }
  const sign = SIGNS[STATES[state].shape];
  for (let y = 0; y < 12; y++) {
    for (let x = 7; x < 21; x++) {
      const [dx, dy] = [x + 0.5 - 14, y + 0.5 - 6];
      const near = [[1, 0], [-1, 0], [0, 1], [0, -1]].some(([ox, oy]) => sign?.(dx + (ox as number), dy + (oy as number)));
      if (sign?.(dx, dy)) rect("#ffffff", x, y, 1, 1);
      else if (near) rect("#10151f", x, y, 1, 1);
    }
  }
  return made;
}

function glowPicture(color: Rgb): HTMLCanvasElement {
  const [made, c] = canvas(GLOW_PX, GLOW_PX);
  const middle = GLOW_PX / 2;
  for (let y = 0; y < GLOW_PX; y += 2) {
    for (let x = 0; x < GLOW_PX; x += 2) {
      const far = Math.hypot(x + 1 - middle, y + 1 - middle) / middle;
      if (far >= 1) continue;
      c.fillStyle = `rgba(${color.join(", ")}, ${(0.7 * (1 - far) ** 1.7).toFixed(3)})`;
      c.fillRect(x, y, 2, 2);
    }
  }
  return made;
}

function pylonPicture(): HTMLCanvasElement {
  const [made, c] = canvas(13, 18);
  c.fillStyle = "#10151f";
  for (const [x, y, w, h] of [[5, 0, 3, 18], [0, 3, 13, 2], [2, 8, 9, 2], [3, 14, 7, 1], [2, 16, 9, 2]] as const) c.fillRect(x, y, w, h);
  c.fillStyle = "#cfd6e2";
  for (const [x, y, w, h] of [[6, 1, 1, 16], [1, 3, 11, 1], [3, 8, 7, 1]] as const) c.fillRect(x, y, w, h);
  return made;
}

export const carTexture = (kind: CarKind, lit: boolean): string => `car ${kind}${lit ? " lit" : ""}`;
export const stationTexture = (state: StationState): string => `station ${state}`;
/** The glow of a load: the colour is the station scale's. */
export const glowTexture = (load: number): string => {
  const share = (load - stationLoad.low) / (stationLoad.high - stationLoad.low);
  return `glow ${Math.round(Math.min(Math.max(share, 0), 1) * (GLOW_STEPS - 1))}`;
};

/** Draw every texture once into the game. */
export function makeTextures(textures: Phaser.Textures.TextureManager): void {
  for (const kind of Object.keys(KINDS) as CarKind[]) {
    for (const lit of [false, true]) {
      const made = textures.addCanvas(carTexture(kind, lit), carSheet(KINDS[kind].color, lit));
      for (let k = 0; k < HEADINGS; k++) made?.add(k, 0, k * CAR_FRAME_PX, 0, CAR_FRAME_PX, CAR_FRAME_PX);
    }
  }
  for (const state of Object.keys(STATES) as StationState[]) textures.addCanvas(stationTexture(state), stationPicture(state));
  for (let k = 0; k < GLOW_STEPS; k++) {
    const load = stationLoad.low + (k / (GLOW_STEPS - 1)) * (stationLoad.high - stationLoad.low);
    textures.addCanvas(`glow ${k}`, glowPicture(stationLoad.color(load)));
  }
  textures.addCanvas("pylon", pylonPicture());
}
