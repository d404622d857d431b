/** Files that leave the page and come back: runs, traces, evaluations. */
import * as api from "../api/client";
import { Book } from "../replay/book";
import { exportRun, importRun } from "../replay/file";
import { note, playTo, show } from "./actions";
import { isEvaluation, readEvaluation } from "./evaluation";
import * as s from "./store";

/** First bytes of a trace as `evgrid run` and `evgrid demo` write it. */
const TRACE = "EVGRID-TRACE ";

export function download(name: string, body: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([body], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const fileName = (kind: string): string => {
  const b = s.book.value?.session;
  return `evgrid-${b ? `${b.scenario}-${b.seed}` : "view"}.${kind}`;
};

export function exportJson(): void {
  const book = s.book.value;
  if (book) download(fileName("json"), exportRun(book), "application/json");
  else s.say("There is no run to export yet.", "warn");
}

/** Show what a file holds; one that cannot be shown is answered with the reason, and the page stays as it was. */
export async function openFile(file: File): Promise<void> {
  const facts = s.city.value;
  if (!facts || s.busy.value) return;
  try {
    const isTrace = (await file.slice(0, TRACE.length).text()) === TRACE || file.name.endsWith(".evt");
    if (isTrace) await openTrace(file);
    else openText(file.name, await file.text(), facts.sha256);
  } catch (error) {
    const why = error instanceof api.ApiError ? error.fault.message : error instanceof SyntaxError ? "It is no JSON."
      : error instanceof Error ? error.message : String(error);
    s.say(`${file.name} was not opened. ${why}`, "error");
  }
}

function openText(name: string, text: string, sha256: string): void {
  const body: unknown = JSON.parse(text);
  if (isEvaluation(body)) {
    const found = readEvaluation(name, body);
    s.evaluation.value = found.find((e) => e.scenario === s.setup.value.scenario) ?? found[0] ?? null;
    s.panel.value = "overview";
    s.say(`Loaded the evaluation ${name}.`);
    return;
  }
  show(importRun(text, sha256), "file");
  s.say(`Loaded ${name}.`);
}

/** The server verifies the trace and plays it, beside the baseline on the same world. */
async function openTrace(file: File): Promise<void> {
  s.running.value = false;
  s.busy.value = `Verifying ${file.name}`;
  try {
    const state = await api.openTrace(file);
    show(new Book(state), "server");
    note(`Trace ${file.name}: ${state.trace?.policy ?? ""} on ${state.scenario}, seed ${state.seed}`);
    await playTo(state.trace?.ticks ?? 0);
    s.say(`Loaded ${file.name}: every tick of it is what the simulator gives.`);
  } finally {
    s.busy.value = null;
  }
}
