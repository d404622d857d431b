/** What lies over the page: tooltip, messages, keys, tour, drop of a file. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import tourSteps from "../state/tour.json";
import { KEYS } from "../state/keymap";
import { newSession, run } from "../state/actions";
import { openFile } from "../state/files";
import * as s from "../state/store";

interface TourStep { title: string; text: string; focus?: string; set?: { mode?: string; panel?: string } }
const TOUR: readonly TourStep[] = tourSteps;

export function Overlays() {
  return (
    <>
      <Tooltip />
      <Toasts />
      {s.help.value && <Help />}
      {s.tour.value !== null && <Tour at={Math.min(s.tour.value, TOUR.length - 1)} />}
      <Drop />
    </>
  );
}

function Tooltip() {
  const h = s.hover.value;
  if (!h) return null;
  const flip = h.x > innerWidth - 260;
  return (
    <div class="tooltip" role="tooltip" style={{ left: `${flip ? h.x - 12 : h.x + 14}px`, top: `${h.y + 12}px`, ...(flip ? { transform: "translateX(-100%)" } : {}) }}>
      {h.lines.map((line, k) => (k === 0 ? <b key={k}>{line}</b> : <span key={k}>{line}</span>))}
    </div>
  );
}

function Toasts() {
  return (
    <div class="toasts" aria-live="polite" role="status">
      {s.busy.value && <p class="toast busy">{s.busy.value}…</p>}
      {s.toasts.value.map((t) => (
        <p key={t.id} class={`toast ${t.tone}`}>{t.text}{" "}
          <button class="plain" aria-label="Close" onClick={() => { s.toasts.value = s.toasts.value.filter((x) => x.id !== t.id); }}>×</button></p>
      ))}
    </div>
  );
}

function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const rows = KEYS.filter((k) => k.keys);
  return (
    <dialog ref={box} class="help" aria-label="Keys" onClose={() => { s.help.value = false; }}>
      <h2>Keys</h2>
      <table><tbody>{rows.map((k) => <tr key={k.keys}><td><kbd>{k.keys}</kbd></td><td>{k.what}</td></tr>)}</tbody></table>
      <button onClick={() => { s.help.value = false; }} autoFocus>Close</button>
    </dialog>
  );
}

function Tour({ at }: { at: number }) {
  const step = TOUR[at] as TourStep;
  useEffect(() => {
    if (step.set?.mode) s.mode.value = step.set.mode as s.Mode;
    if (step.set?.panel) s.panel.value = step.set.panel as s.Panel;
    const focus = step.focus ? document.querySelector(step.focus) : null;
    focus?.classList.add("toured");
    return () => focus?.classList.remove("toured");
  }, [at]);
  useEffect(() => {
    if (!s.book.value && !s.busy.value) void newSession().then((ok) => (ok ? run() : undefined));
  }, []);
  return (
    <section class="tour" role="dialog" aria-label="Guided tour" data-testid="tour">
      <h2>{step.title}</h2>
      <p>{step.text}</p>
      <div class="row">
        <button disabled={at === 0} onClick={() => { s.tour.value = at - 1; }}>Back</button>
        <span>{at + 1} of {TOUR.length}</span>
        <button class="primary" onClick={() => { s.tour.value = at + 1 < TOUR.length ? at + 1 : null; }}>{at + 1 < TOUR.length ? "Next" : "Done"}</button>
        <button onClick={() => { s.tour.value = null; }}>Leave</button>
      </div>
    </section>
  );
}

const dragging = signal(false);

function Drop() {
  useEffect(() => {
    const over = (e: DragEvent): void => {
      if (!e.dataTransfer?.types.includes("Files")) return;
      e.preventDefault();
      dragging.value = true;
    };
    const leave = (e: DragEvent): void => {
      if (!e.relatedTarget) dragging.value = false;
    };
    const drop = (e: DragEvent): void => {
      e.preventDefault();
      dragging.value = false;
      const file = e.dataTransfer?.files[0];
      if (file) void openFile(file);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return dragging.value ? <div class="drop">Drop a run, a trace (.evt) or an evaluation</div> : null;
}
