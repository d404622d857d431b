/** The shapes of stations, drawn once into an atlas that deck.gl tints. */
import { STATES } from "./scales";

const SIZE = 64;
const DRAW: Record<string, (c: CanvasRenderingContext2D) => void> = {
  circle: (c) => c.arc(32, 32, 28, 0, 2 * Math.PI),
  square: (c) => c.rect(6, 6, 52, 52),
  diamond: (c) => path(c, [[32, 1], [63, 32], [32, 63], [1, 32]]),
  triangle: (c) => path(c, [[32, 2], [63, 60], [1, 60]]),
  cross: (c) => path(c, [[14, 2], [32, 20], [50, 2], [62, 14], [44, 32], [62, 50], [50, 62], [32, 44], [14, 62], [2, 50], [20, 32], [2, 14]]),
};

function path(c: CanvasRenderingContext2D, points: [number, number][]): void {
  points.forEach(([x, y], k) => (k === 0 ? c.moveTo(x, y) : c.lineTo(x, y)));
  c.closePath();
}

export const SHAPES: string[] = Object.values(STATES).map((s) => s.shape);
export type IconPlace = { x: number; y: number; width: number; height: number; mask: boolean };
export const ICONS: Record<string, IconPlace> = Object.fromEntries(
  SHAPES.map((name, k) => [name, { x: k * SIZE, y: 0, width: SIZE, height: SIZE, mask: true }]),
);

let made: HTMLCanvasElement | null = null;
/** The atlas, drawn on a canvas: an address would be a request, which the page's policy refuses. */
export function atlas(): HTMLCanvasElement {
  if (made) return made;
  const canvas = document.createElement("canvas");
  canvas.width = SIZE * SHAPES.length;
  canvas.height = SIZE;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  SHAPES.forEach((name, k) => {
    context.save();
    context.translate(k * SIZE, 0);
    context.beginPath();
    DRAW[name]?.(context);
    context.fillStyle = "#fff";
    context.fill();
    context.restore();
  });
  made = canvas;
  return made;
}
