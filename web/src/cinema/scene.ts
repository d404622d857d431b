/** The film itself: puts ground, traffic, power and names together every frame, and moves the camera. */
import * as Phaser from "phaser";
import type { LaneName } from "../api/types";
import type { FrameSource } from "../replay/source";
import { Chunks } from "./chunks";
import { Projection, Roads } from "./geo";
import { Land } from "./land";
import { Minimap } from "./minimap";
import { Names } from "./names";
import { Power } from "./power";
import { skyAt } from "./sky";
import { makeTextures } from "./sprites";
import { Traffic } from "./traffic";

export const ZOOMS = [0.5, 1, 2, 3, 4, 6] as const;
const FIRST_ZOOM = 2;
/** Minimap and names are redrawn that often. */
const SLOW_MS = 120;
const CLICK_PX = 4;
const NEAR_PX = 14;

/** What the words around the picture are told. */
export interface Told { following: string | null; left: string | null; cars: number }

export class CityScene extends Phaser.Scene {
  lane: LaneName;
  following: string | null = null;
  minimap!: Minimap;
  traffic!: Traffic;
  power!: Power;
  /** Every square of the view has been drawn. */
  ready = false;
  private ground!: Projection;
  private chunks!: Chunks;
  private names!: Names;
  private night!: Phaser.GameObjects.Rectangle;
  private ring!: Phaser.GameObjects.Graphics;
  private jumped = true;
  private left: string | null = null;
  private slow = 0;
  private unlisten: () => void = () => undefined;

  constructor(private readonly source: FrameSource, private readonly calm: () => boolean, private readonly told: (told: Told) => void, private readonly begun: () => void) {
    super("city");
    this.lane = source.lanes.at(-1) ?? "oracle";
  }

  create(): void {
    const { city } = this.source;
    makeTextures(this.textures);
    this.ground = new Projection(city);
    const roads = new Roads(city, this.ground);
    this.chunks = new Chunks(this, this.ground, new Land(city, this.ground, roads), roads);
    this.night = this.add.rectangle(0, 0, this.ground.width, this.ground.height, 0xffffff).setOrigin(0, 0).setDepth(10).setBlendMode(Phaser.BlendModes.MULTIPLY);
    this.traffic = new Traffic(this, this.source, this.ground, roads);
    this.power = new Power(this, this.source, this.ground);
    this.names = new Names(this, city, this.ground);
    this.ring = this.add.graphics().setDepth(41);
    this.minimap = new Minimap(city, this.ground, roads, (x, y) => this.look(x, y));
    const camera = this.cameras.main;
    camera.setBounds(0, 0, this.ground.width, this.ground.height).setZoom(FIRST_ZOOM).setBackgroundColor("#3c5a3a");
    this.power.update(this.lane);
    const start = this.power.rows.reduce((best, row) => (row.load > (this.power.rows[best]?.load ?? 0) ? row.index : best), 0);
    const spot = this.power.spots[start] ?? { x: this.ground.width / 2, y: this.ground.height / 2 };
    camera.centerOn(spot.x, spot.y);
    this.unlisten = this.source.listen((_, jumped) => {
      this.jumped ||= jumped;
    });
    this.events.once(Phaser.Scenes.Events.DESTROY, this.unlisten);
    this.listenToPointer();
    this.begun();
  }

  override update(now: number): void {
    const minute = this.source.minuteOfDay();
    const sky = skyAt(minute);
    const view = this.cameras.main.worldView;
    this.ready = this.chunks.update(view, sky.lights, 1);
    this.night.setFillStyle(sky.color, sky.alpha).setVisible(sky.alpha > 0);
    this.traffic.update(this.lane, this.jumped, sky.lights > 0.3);
    this.jumped = false;
    const changed = this.power.update(this.lane);
    this.power.pulse(now, 0.6 + 0.4 * sky.lights, this.calm());
    this.follow();
    if (changed || now - this.slow > SLOW_MS) {
      this.slow = now;
      this.names.update(this.power.rows, view, this.cameras.main.zoom);
      this.minimap.draw(this.power.rows, this.traffic.cars, view);
      this.told({ following: this.following, left: this.left, cars: this.traffic.cars.length });
    }
  }

  private follow(): void {
    this.ring.clear();
    if (!this.following) return;
    const sprite = this.traffic.of(this.following);
    if (!sprite) {
      this.left = this.following;
      this.following = null;
      return;
    }
    const camera = this.cameras.main;
    const share = this.calm() ? 1 : 0.12;
    const { x, y } = camera.midPoint;
    camera.centerOn(x + (sprite.x - x) * share, y + (sprite.y - y) * share);
    this.ring.lineStyle(1.5, 0xffd166, 1).strokeCircle(sprite.x, sprite.y, 12);
  }

  setLane(lane: LaneName): void {
    this.lane = lane;
    this.jumped = true;
  }

  /** Follow a car, or none. */
  setFollowing(id: string | null): void {
    this.following = id;
    this.left = null;
  }

  /** Follow the car nearest to the middle of the view, or stop. */
  toggleFollow(): void {
    const { x, y } = this.cameras.main.midPoint;
    this.setFollowing(this.following ? null : this.traffic.nearest(x, y, Infinity));
  }

  zoomBy(steps: number): void {
    const camera = this.cameras.main;
    const at = ZOOMS.findIndex((z) => z >= camera.zoom - 1e-6);
    camera.setZoom(ZOOMS[Math.min(Math.max(at + steps, 0), ZOOMS.length - 1)] as number);
    this.slow = 0;
  }

  look(x: number, y: number): void {
    this.setFollowing(null);
    this.cameras.main.centerOn(x, y);
  }

  private listenToPointer(): void {
    const camera = this.cameras.main;
    this.input.on("pointermove", (p: Phaser.Input.Pointer) => {
      if (!p.isDown || p.getDistance() <= CLICK_PX) return;
      this.setFollowing(null);
      camera.scrollX -= (p.x - p.prevPosition.x) / camera.zoom;
      camera.scrollY -= (p.y - p.prevPosition.y) / camera.zoom;
    });
    this.input.on("pointerup", (p: Phaser.Input.Pointer) => {
      if (p.getDistance() > CLICK_PX) return;
      const at = camera.getWorldPoint(p.x, p.y);
      this.setFollowing(this.traffic.nearest(at.x, at.y, NEAR_PX));
    });
    this.input.on("wheel", (_p: Phaser.Input.Pointer, _over: unknown, _dx: number, dy: number) => this.zoomBy(dy > 0 ? -1 : 1));
  }
}
