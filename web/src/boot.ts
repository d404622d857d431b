/** From the address to the view: city, session, ticks, clock. */
import * as api from "./api/client";
import { jump, loadCity, newSession, recall, setSpeed, startJudge } from "./state/actions";
import * as s from "./state/store";
import { readUrl } from "./state/url";

const AT_ONCE = 12;

export async function boot(): Promise<void> {
  const theme = recall("theme");
  if (theme === "dark" || theme === "light" || theme === "contrast") s.theme.value = theme;
  const speed = Number(recall("speed"));
  if ([1, 2, 4, 8, 16].includes(speed)) setSpeed(speed);
  const asked = readUrl(location.search);
  if (!(await loadCity())) return;
  const names = s.city.value?.scenarios.map((x) => x.name) ?? [];
  if (!names.includes(s.setup.value.scenario)) {
    s.say(`There is no scenario ${s.setup.value.scenario}; the baseline is chosen instead.`, "warn");
    s.setup.value = { ...s.setup.value, scenario: "baseline" };
  }
  if (asked.start && !(await newSession())) return;
  await playTo(asked.played);
  if (asked.position > 0) jump(asked.position);
  s.tour.value = asked.tour;
  if (asked.judge) await startJudge();
}

/** Play ticks that the address says were played. */
async function playTo(ticks: number): Promise<void> {
  const book = s.book.value;
  if (!book) return;
  s.busy.value = ticks > 0 ? `Playing ${ticks} ticks` : null;
  try {
    while (book.length < ticks && !book.done && s.book.value === book) {
      const reply = await api.step(book.session.session_id, Math.min(AT_ONCE, ticks - book.length));
      for (const event of reply.events) book.add(event);
      s.version.value = book.events.length;
    }
  } catch (error) {
    s.say(`The view could not be played to its tick: ${error instanceof Error ? error.message : String(error)}`, "error");
  }
  s.busy.value = null;
}
