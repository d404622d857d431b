/** Before a run: every scenario with its sentence, one press to start. */
import { newSession, run } from "../state/actions";
import * as s from "../state/store";

export function Launcher() {
  const city = s.city.value;
  if (!city) return null;
  const start = async (scenario: string): Promise<void> => {
    s.setup.value = { ...s.setup.value, scenario };
    if (await newSession()) await run();
  };
  return (
    <section aria-label="Scenarios" class="launcher">
      <h2>Choose an evening</h2>
      <p class="about">Baseline and oracle play it on the same world. Or drop a run, a trace or an evaluation on the page.</p>
      <ul>
        {city.scenarios.map((x) => (
          <li key={x.name}>
            <button onClick={() => void start(x.name)} data-scenario={x.name}>
              <b>{x.name.replaceAll("_", " ")}</b>
              <span>{x.sentence}</span>
              <small>{x.season} {x.day_type}, from {x.start} · {x.events.length} scheduled events</small>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
