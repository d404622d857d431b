/** From the address to the view: city, session, ticks, clock. */
import { jump, loadCity, newSession, playTo, recall, setSpeed, startJudge } from "./state/actions";
import * as s from "./state/store";
import { readUrl } from "./state/url";

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
