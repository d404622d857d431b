/** The ground in squares that are drawn when the camera comes near, one a frame, and let go when many are there. */
import * as Phaser from "phaser";
import type { Projection, Roads } from "./geo";
import type { Land } from "./land";
import { CHUNK_PX, paintChunk } from "./paint";

/** Squares kept; each is two textures of a megabyte. */
const MOST = 48;

interface Chunk { day: Phaser.GameObjects.Image; lights: Phaser.GameObjects.Image; used: number }

export class Chunks {
  private readonly made = new Map<string, Chunk>();
  private frame = 0;

  constructor(
    private readonly scene: Phaser.Scene, private readonly ground: Projection, private readonly land: Land, private readonly roads: Roads,
  ) {}

  /** Draw up to `most` squares of the view that are missing; true when none is. */
  update(view: Phaser.Geom.Rectangle, lights: number, most: number): boolean {
    this.frame++;
    let missing = 0;
    const last = (pixels: number): number => Math.ceil(pixels / CHUNK_PX) - 1;
    for (let j = Math.max(Math.floor(view.top / CHUNK_PX), 0); j <= Math.min(Math.floor(view.bottom / CHUNK_PX), last(this.ground.height)); j++) {
      for (let i = Math.max(Math.floor(view.left / CHUNK_PX), 0); i <= Math.min(Math.floor(view.right / CHUNK_PX), last(this.ground.width)); i++) {
        const key = `${i} ${j}`;
        const known = this.made.get(key) ?? (missing++ < most ? this.draw(key, i, j) : null);
        if (known) known.used = this.frame;
      }
    }
    for (const chunk of this.made.values()) chunk.lights.setAlpha(lights).setVisible(lights > 0);
    this.forget();
    return missing <= most;
  }

  private draw(key: string, i: number, j: number): Chunk {
    const [day, lights] = [`ground ${key}`, `lights ${key}`].map((name) =>
      this.scene.textures.createCanvas(name, CHUNK_PX, CHUNK_PX)) as [Phaser.Textures.CanvasTexture, Phaser.Textures.CanvasTexture];
    paintChunk(day.context, lights.context, this.land, this.roads, i * CHUNK_PX, j * CHUNK_PX);
    for (const texture of [day, lights]) texture.refresh();
    const image = (texture: Phaser.Textures.CanvasTexture, depth: number): Phaser.GameObjects.Image =>
      this.scene.add.image(i * CHUNK_PX, j * CHUNK_PX, texture.key).setOrigin(0, 0).setDepth(depth);
    const chunk = { day: image(day, 0), lights: image(lights, 11).setBlendMode(Phaser.BlendModes.ADD), used: this.frame };
    this.made.set(key, chunk);
    return chunk;
  }

  private forget(): void {
    if (this.made.size <= MOST) return;
    const old = [...this.made].filter(([, c]) => c.used < this.frame).sort((a, b) => a[1].used - b[1].used);
    for (const [key, chunk] of old.slice(0, this.made.size - MOST)) {
      this.made.delete(key);
      for (const image of [chunk.day, chunk.lights]) {
        const name = image.texture.key;
        image.destroy();
        this.scene.textures.remove(name);
      }
    }
  }
}
