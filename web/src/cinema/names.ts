/** Names and counts over the city, the same size on the screen at any zoom; few texts, moved to what is in view. */
import type * as Phaser from "phaser";
import type { CityFacts } from "../api/types";
import type { StationRow } from "../map/stationData";
import type { Projection } from "./geo";

const MOST = 90;
const DEPTH = 60;
const FONT = '"Noto Sans", system-ui, sans-serif';
interface Word { x: number; y: number; text: string; station: boolean; color: string }

export class Names {
  private readonly texts: Phaser.GameObjects.Text[] = [];
  private readonly places: Word[];

  constructor(private readonly scene: Phaser.Scene, private readonly city: CityFacts, private readonly ground: Projection) {
    const taken = new Set(city.stations.map((s) => s.name));
    this.places = city.places.filter((p) => !taken.has(p.name) && p.rank <= 2).map((p) => ({
      x: ground.x(p.at[0]), y: ground.y(p.at[1]), text: p.name, station: false, color: p.kind === "water" ? "#bfe6ff" : p.kind === "park" ? "#c9f2b5" : "#e6eaf2",
    }));
  }

  update(rows: readonly StationRow[], view: Phaser.Geom.Rectangle, zoom: number): void {
    const words: Word[] = rows.map((row) => ({
      x: this.ground.x(row.station.at[0]), y: this.ground.y(row.station.at[1]), station: true, color: "#ffffff",
      text: `${zoom >= 2 ? `${row.station.name}  ` : ""}${row.text}${row.queued > 0 ? `  ${row.queued} queued` : ""}`,
    }));
    if (zoom >= 2 || this.city.stations.length < 60) words.push(...this.places);
    const seen = words.filter((w) => view.contains(w.x, w.y)).slice(0, MOST);
    seen.forEach((word, k) => {
      const text = this.texts[k] ?? this.made();
      text.setText(word.text).setColor(word.color).setFontSize(word.station ? 13 : 12).setAlpha(word.station ? 1 : 0.85);
      text.setBackgroundColor(word.station ? "rgba(10, 15, 24, 0.78)" : "rgba(0, 0, 0, 0)");
      text.setScale(1 / zoom).setPosition(word.x, word.y - (word.station ? 24 : 0)).setOrigin(0.5, word.station ? 1 : 0.5).setVisible(true);
    });
    for (const text of this.texts.slice(seen.length)) text.setVisible(false);
  }

  private made(): Phaser.GameObjects.Text {
    const text = this.scene.add.text(0, 0, "", { fontFamily: FONT, stroke: "#0a0f18", strokeThickness: 3, padding: { x: 5, y: 2 } }).setDepth(DEPTH);
    text.texture.setFilter(0); // linear: words are read, not pixel art
    this.texts.push(text);
    return text;
  }
}
