/** The cars of a lane as sprites: where the frames say, turned the way they go. */
import * as Phaser from "phaser";
import type { LaneName } from "../api/types";
import type { CarAt, FrameSource } from "../replay/source";
import { headingOf, type Projection, type Roads } from "./geo";
import { carTexture, type CarKind } from "./sprites";

/** A car that moved less has not shown which way it goes. */
const SMALLEST_MOVE_PX = 0.05;
const DEPTH = 40;

export const kindOf = (car: Pick<CarAt, "walkin" | "rerouted">): CarKind => (car.rerouted ? "rerouted" : car.walkin ? "walkin" : "request");

export class Traffic {
  private readonly sprites = new Map<string, Phaser.GameObjects.Image>();
  private readonly spare: Phaser.GameObjects.Image[] = [];
  private readonly headings = new Map<string, number>();
  private readonly places: Map<string, { x: number; y: number }>;
  /** Cars of the last frame, as the source gave them. */
  cars: CarAt[] = [];

  constructor(
    private readonly scene: Phaser.Scene, private readonly source: FrameSource, private readonly ground: Projection,
    private readonly roads: Roads,
  ) {
    this.places = new Map(source.city.stations.map((s) => [s.id, { x: ground.x(s.at[0]), y: ground.y(s.at[1]) }]));
  }

  /** Place every car; after a jump of the clock or another lane, its way is read from its road. */
  update(lane: LaneName, jumped: boolean, lit: boolean): void {
    if (jumped) this.headings.clear();
    this.cars = this.source.cars(lane);
    const seen = new Set<string>();
    for (const car of this.cars) {
      seen.add(car.id);
      const [x, y] = [this.ground.x(car.lon), this.ground.y(car.lat)];
      const sprite = this.sprites.get(car.id) ?? this.take(car.id);
      sprite.setTexture(carTexture(kindOf(car), lit), this.heading(car, sprite, x, y));
      sprite.setPosition(x, y);
    }
    for (const [id, sprite] of this.sprites) {
      if (seen.has(id)) continue;
      this.sprites.delete(id);
      this.headings.delete(id);
      this.spare.push(sprite.setVisible(false));
    }
  }

  private heading(car: CarAt, sprite: Phaser.GameObjects.Image, x: number, y: number): number {
    const known = this.headings.get(car.id);
    const [dx, dy] = [x - sprite.x, y - sprite.y];
    if (known !== undefined && Math.hypot(dx, dy) < SMALLEST_MOVE_PX) return known;
    const goal = this.places.get(car.station);
    const found = known !== undefined || !goal ? headingOf(dx, dy) : this.roads.headingToward(x, y, goal.x, goal.y);
    this.headings.set(car.id, found);
    return found;
  }

  private take(id: string): Phaser.GameObjects.Image {
    const sprite = this.spare.pop()?.setVisible(true) ?? this.scene.add.image(0, 0, carTexture("request", false), 0).setDepth(DEPTH);
    this.sprites.set(id, sprite);
    return sprite;
  }

  /** The sprite of a car on the road. */
  of(id: string): Phaser.GameObjects.Image | undefined {
    return this.sprites.get(id);
  }

  /** The car drawn nearest to a place, within `reach` pixels. */
  nearest(x: number, y: number, reach: number): string | null {
    let best: string | null = null;
    let least = reach;
    for (const [id, sprite] of this.sprites) {
      const d = Math.hypot(sprite.x - x, sprite.y - y);
      if (d < least) [best, least] = [id, d];
    }
    return best;
  }

  /** What is drawn, for tests: the sprites' own places, back in degrees. */
  drawn(): { id: string; lon: number; lat: number; heading: number }[] {
    return [...this.sprites].map(([id, s]) => ({
      id, lon: this.ground.lon(s.x), lat: this.ground.lat(s.y), heading: Number(s.frame.name),
    }));
  }
}
