/** The whole city in a corner: roads, stations, cars and what the camera sees; a click goes there. */
import { stationLoad } from "../map/scales";
import type { StationRow } from "../map/stationData";
import type { CityFacts } from "../api/types";
import { css } from "../theme/palettes";
import type { Projection, Roads } from "./geo";

const LONG_PX = 190;
const ALT = "Minimap: roads, stations by load, cars as dots, the camera's view as a frame";

export interface Seen { x: number; y: number; width: number; height: number }

export class Minimap {
  readonly canvas = document.createElement("canvas");
  private readonly base = document.createElement("canvas");
  private readonly scale: number;

  constructor(private readonly city: CityFacts, private readonly ground: Projection, roads: Roads, go: (x: number, y: number) => void) {
    this.scale = LONG_PX / Math.max(ground.width, ground.height);
    for (const c of [this.canvas, this.base]) {
      c.width = Math.round(ground.width * this.scale);
      c.height = Math.round(ground.height * this.scale);
    }
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", ALT);
    this.canvas.className = "cinema-minimap";
    const c = this.base.getContext("2d") as CanvasRenderingContext2D;
    c.fillStyle = "#16241c";
    c.fillRect(0, 0, this.base.width, this.base.height);
    for (const place of city.places) {
      if (place.kind !== "water" && place.kind !== "park") continue;
      c.fillStyle = place.kind === "water" ? "#2f6f9f" : "#2f6b35";
      c.fillRect(ground.x(place.at[0]) * this.scale - 2, ground.y(place.at[1]) * this.scale - 2, 4, 4);
    }
    for (const s of roads.segments) {
      c.strokeStyle = s.width >= 6 ? "#8e97a8" : "#4a5364";
      c.lineWidth = s.width >= 6 ? 1.2 : 0.7;
      c.beginPath();
      c.moveTo(s.x0 * this.scale, s.y0 * this.scale);
      c.lineTo(s.x1 * this.scale, s.y1 * this.scale);
      c.stroke();
    }
    this.canvas.addEventListener("pointerdown", (e) => {
      const box = this.canvas.getBoundingClientRect();
      go(((e.clientX - box.left) / box.width) * ground.width, ((e.clientY - box.top) / box.height) * ground.height);
    });
  }

  draw(rows: readonly StationRow[], cars: readonly { lon: number; lat: number }[], seen: Seen): void {
    const c = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    c.drawImage(this.base, 0, 0);
    c.fillStyle = "#ffffff";
    for (const car of cars) c.fillRect(this.ground.x(car.lon) * this.scale - 1, this.ground.y(car.lat) * this.scale - 1, 2, 2);
    this.city.stations.forEach((s, k) => {
      const [x, y] = [this.ground.x(s.at[0]) * this.scale, this.ground.y(s.at[1]) * this.scale];
      c.fillStyle = "#0a0f18";
      c.fillRect(x - 3, y - 3, 6, 6);
      c.fillStyle = css(stationLoad.color(rows[k]?.load ?? 0));
      c.fillRect(x - 2, y - 2, 4, 4);
    });
    c.strokeStyle = "#ffd166";
    c.lineWidth = 1.5;
    c.strokeRect(seen.x * this.scale, seen.y * this.scale, seen.width * this.scale, seen.height * this.scale);
  }
}
