/**
 * The cinematic view: the same frames as a pixel-art city. Fetched, with Phaser, only when it is opened.
 *
 * It owns no state of the run and asks the server for nothing: time, cars and stations come from the source, the
 * clock's keys stay the page's own. Closing gives the canvas and its graphics memory back.
 */
import * as Phaser from "phaser";
import { canDraw } from "../map/canDraw";
import type { FrameSource } from "../replay/source";
import "./cinema.css";
import { Hud } from "./hud";
import { CityScene } from "./scene";

/** What is drawn, for tests to compare with the trace. */
export interface Probe { scene: CityScene; renderer: "webgl" | "canvas" }
declare global {
  interface Window { evgridCinema?: Probe }
}

/** Keys of the page that make sense under the film; every other key is kept from it. */
const PAGE_KEYS = new Set([" ", "ArrowLeft", "ArrowRight", "Home", "End", "[", "]", "s", "r", "v"]);

export function open(source: FrameSource, close: () => void): () => void {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const dialog = document.createElement("dialog");
  dialog.className = "cinema";
  dialog.setAttribute("aria-label", "Cinema");
  const scene = new CityScene(source, () => calm.matches, (told) => hud.update(scene.lane, told), () => {
    dialog.append(scene.minimap.canvas);
    window.evgridCinema = { scene, renderer: game.renderer.type === Phaser.WEBGL ? "webgl" : "canvas" };
  });
  const hud = new Hud(dialog, source, {
    close: () => end(), lane: (lane) => scene.setLane(lane), follow: () => scene.toggleFollow(), zoom: (steps) => scene.zoomBy(steps),
  });
  document.body.append(dialog);
  dialog.showModal();
  const game = new Phaser.Game({
    type: canDraw() ? Phaser.WEBGL : Phaser.CANVAS, parent: hud.picture, scene, pixelArt: true, backgroundColor: "#3c5a3a", banner: false, disableContextMenu: true,
    audio: { noAudio: true }, input: { keyboard: false, gamepad: false },
    scale: { mode: Phaser.Scale.RESIZE, width: "100%", height: "100%" },
  });

  const acts: Record<string, () => void> = {
    Escape: () => end(), f: () => scene.toggleFollow(), a: () => scene.setLane("baseline"), b: () => scene.setLane("oracle"),
    "+": () => scene.zoomBy(1), "=": () => scene.zoomBy(1), "-": () => scene.zoomBy(-1),
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    const onButton = event.target instanceof HTMLButtonElement && (event.key === " " || event.key === "Enter");
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) {
      act();
      event.preventDefault();
    }
    if (act || onButton || !PAGE_KEYS.has(event.key)) event.stopPropagation();
  };
  window.addEventListener("keydown", onKey, true);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    end();
  });

  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    window.removeEventListener("keydown", onKey, true);
    delete window.evgridCinema;
    const canvas = game.canvas;
    game.events.once(Phaser.Core.Events.DESTROY, () => {
      // a context that is only forgotten is kept until the browser has sixteen of them
      (canvas.getContext("webgl2") ?? canvas.getContext("webgl"))?.getExtension("WEBGL_lose_context")?.loseContext();
    });
    game.destroy(true);
    dialog.close();
    dialog.remove();
    close();
  };
  return end;
}
