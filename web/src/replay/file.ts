/** A run as one JSON file: the session's state and every event, enough to show it again without a server. */
import { LANES, type DemoEvent, type SessionState, type TickEvent } from "../api/types";
import { Book } from "./book";
import { plain } from "./decode";

export const FILE_FORMAT = "evgrid-view";
const FILE_VERSION = 1;

export class FileError extends Error {}

export function exportRun(book: Book): string {
  const events = book.events.map((event) => event.type === "spawn" ? event : {
    ...event,
    lanes: Object.fromEntries(LANES.map((lane) =>
      [lane, { ...event.lanes[lane], render: book.renderAt(lane, event.tick + 1) }])),
  });
  const run = { format: FILE_FORMAT, version: FILE_VERSION, session: book.session, events };
  return JSON.stringify(run, plain);
}

interface Run { format: string; version: number; session: SessionState; events: DemoEvent[] }

/** The run of a file; `FileError` says what is wrong with one that is none. */
export function importRun(text: string, citySha256: string): Book {
  let run: Partial<Run>;
  try {
    run = JSON.parse(text) as Partial<Run>;
  } catch {
    throw new FileError("The file is no JSON, or was cut.");
  }
  if (run.format !== FILE_FORMAT || run.version !== FILE_VERSION) {
    throw new FileError("The file is no run exported by this page.");
  }
  if (!run.session || !Array.isArray(run.events)) throw new FileError("The file lacks its session or events.");
  if (run.session.recipe?.city?.sha256 !== citySha256) {
    throw new FileError("The run is of another city, or of another version of this one.");
  }
  try {
    const book = new Book(run.session);
    for (const event of run.events) {
      if (!book.add(event)) throw new FileError(`Event ${event.seq} is out of order.`);
    }
    for (const tick of book.ticks) check(tick);
    return book;
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw new FileError("The file's events do not have the form of a run.");
  }
}

function check(tick: TickEvent): void {
  for (const lane of Object.values(tick.lanes)) {
    if (lane.after.occupied.length !== lane.after.queued.length || typeof lane.frame.reward !== "number") {
      throw new FileError(`Tick ${tick.tick} is not whole.`);
    }
  }
}
