/** KPI tiles: the server's numbers and its word on who is ahead, with unit, n, seed and source. */
import type { Compared, KpiFact } from "../api/types";
import type { Evaluation } from "../state/evaluation";
import * as s from "../state/store";
import { Badge, badgeOf } from "./Badge";
import { Launcher } from "./Launcher";
import { shown, signed, words } from "./format";

const AHEAD: Record<string, string> = {
  oracle: "oracle ahead", baseline: "baseline ahead", tie: "tie", neither: "no better side", unknown: "not yet known",
};

export function Overview() {
  const city = s.city.value;
  const book = s.book.value;
  void s.version.value;
  if (!city) return null;
  if (!book) return <Launcher />;
  const event = book.eventAt(s.at.value);
  const compare = event?.compare;
  const ended = compare?.episode ?? null;
  return (
    <section class="kpis" aria-label="Key numbers">
      {s.evaluation.value && <EvaluationTiles e={s.evaluation.value} facts={city.kpis} />}
      <Headline />
      {!compare && <p class="empty">No tick has been played. <b>Step</b> plays one, <b>Run</b> the whole evening.</p>}
      {compare && <Tiles facts={city.role_kpis} values={compare.so_far} title="So far" />}
      {ended && <Tiles facts={city.kpis} values={ended} title="Whole episode, after the settle" />}
      <Flags />
    </section>
  );
}

function Headline() {
  void s.version.value;
  const book = s.book.value;
  if (!book) return null;
  const compared = book.eventAt(s.at.value)?.compare;
  const list = Object.values(compared?.episode ?? compared?.so_far ?? {});
  const count = (who: string): number => list.filter((c) => c.ahead === who).length;
  const allTie = list.length > 0 && list.every((c) => c.ahead === "tie" || c.delta === null || c.delta === 0);
  const warn = badgeOf("oracle")?.warn ?? false;
  return (
    <header class="headline" data-testid="headline">
      <p class="big">
        {list.length === 0 ? "Two dispatchers, one evening"
          : allTie ? "tie" : `oracle ahead in ${count("oracle")}, baseline in ${count("baseline")}, tie in ${count("tie")}`}
      </p>
      <p class="about">
        n = 1 evening · seed {book.session.seed} · {book.session.scenario} · decided by <Badge lane="baseline" /> and{" "}
        <Badge lane="oracle" />
        {warn && <b> The oracle did not act for itself throughout.</b>}
      </p>
      <p class="about">One evening is an example, not evidence: drop the JSON of <code>evgrid eval</code> here for intervals.</p>
    </header>
  );
}

function Tiles({ facts, values, title }: { facts: KpiFact[]; values: Record<string, Compared>; title: string }) {
  const known = facts.filter((f) => values[f.name]);
  const extra = Object.keys(values).filter((n) => !facts.some((f) => f.name === n));
  return (
    <>
      <h3>{title}</h3>
      <div class="tiles">
        {known.map((f) => <Tile key={f.name} fact={f} value={values[f.name] as Compared} />)}
      </div>
      {extra.length > 0 && (
        <details>
          <summary>By kind of driver and zone ({extra.length})</summary>
          <div class="tiles">
            {extra.map((name) => (
              <Tile key={name} value={values[name] as Compared}
                fact={{ name, unit: "min", better: "lower", sentence: "Mean minutes to charged of this group." }} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

function Tile({ fact, value }: { fact: KpiFact; value: Compared }) {
  const unit = fact.unit === "1" ? "" : fact.unit;
  return (
    <article class={`tile ${value.ahead}`} title={fact.sentence} data-kpi={fact.name}>
      <h4>{words(fact.name.replace(".", " · "))} <span class="unit">{unit}</span></h4>
      <dl>
        <div><dt>baseline</dt><dd title={String(value.baseline)} data-exact={String(value.baseline)}>{shown(value.baseline, unit)}</dd></div>
        <div><dt>oracle</dt><dd title={String(value.oracle)} data-exact={String(value.oracle)}>{shown(value.oracle, unit)}</dd></div>
      </dl>
      <p class="delta"><span>{value.ahead === "tie" ? "0" : signed(value.delta, unit)}</span> <b>{AHEAD[value.ahead] ?? value.ahead}</b></p>
      <Spark name={fact.name} />
    </article>
  );
}

const SPARK_POINTS = 100;
/** The number over the episode, as the trace has it at each tick. */
function Spark({ name }: { name: string }) {
  void s.version.value;
  const book = s.book.value;
  if (!book || book.length < 2) return null;
  const series = (["baseline", "oracle"] as const).map((lane) =>
    Array.from({ length: Math.min(book.length, SPARK_POINTS) }, (_, k, n = Math.min(book.length, SPARK_POINTS)) =>
      book.ticks[Math.round((k / (n - 1)) * (book.length - 1))]?.compare.so_far[name]?.[lane] ?? null));
  const all = series.flat().filter((v): v is number => v !== null);
  if (all.length < 4) return null;
  const low = Math.min(...all);
  const span = Math.max(...all) - low || 1;
  const points = (v: (number | null)[]): string => v
    .map((y, k) => (y === null ? "" : `${((k / (v.length - 1)) * 100).toFixed(1)},${(22 - ((y - low) / span) * 20).toFixed(1)}`))
    .filter(Boolean).join(" ");
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <polyline class="a" points={points(series[0] ?? [])} />
      <polyline class="b" points={points(series[1] ?? [])} />
    </svg>
  );
}

function EvaluationTiles({ e, facts }: { e: Evaluation; facts: KpiFact[] }) {
  const named = facts.filter((f) => e.differences[f.name]);
  return (
    <section aria-label="Loaded evaluation" data-testid="evaluation">
      <h3>{e.policy} against {e.reference}, {e.scenario}</h3>
      <p class="about">
        n = {e.episodes} evenings · seed {e.seed} · source: {e.source} · {e.file} {e.commit && `· commit ${e.commit.slice(0, 10)}`}{" "}
        <button onClick={() => { s.evaluation.value = null; }}>Close</button>
      </p>
      <div class="tiles">
        {named.slice(0, 20).map((f) => {
          const d = e.differences[f.name];
          if (!d) return null;
          const tied = d.n > 0 && d.ties === d.n;
          const clear = d.low !== null && d.high !== null && (d.low > 0 || d.high < 0);
          return (
            <article class="tile" title={f.sentence} data-eval={f.name} key={f.name}>
              <h4>{words(f.name)} <span class="unit">{f.unit === "1" ? "" : f.unit}</span></h4>
              <dl>
                <div><dt>{e.reference}</dt><dd>{shown(e.referenceMeans[f.name])}</dd></div>
                <div><dt>{e.policy}</dt><dd>{shown(e.means[f.name])}</dd></div>
              </dl>
              <p class="delta">
                {tied ? <b>tie</b> : <><span>{signed(d.mean)} [{signed(d.low)}, {signed(d.high)}]</span>{" "}
                  <b>{clear ? "interval clear of 0" : "not told apart"}</b></>}
              </p>
              <p class="about">better {d.wins}, tie {d.ties}, worse {d.losses}</p>
            </article>
          );
        })}
      </div>
    </section>
  );
}

function Flags() {
  const event = s.book.value?.eventAt(s.at.value);
  if (!event) return null;
  const lanes = (["baseline", "oracle"] as const).map((lane) => [lane, event.lanes[lane].flags] as const);
  return (
    <>
      <h3>Flags of the tick</h3>
      {lanes.every(([, f]) => f.length === 0) && <p class="empty">None in either lane.</p>}
      <ul class="flags">
        {lanes.flatMap(([lane, flags]) => flags.map((f, k) => (
          <li key={`${lane}${k}`}><b>{lane}</b> {words(f.name)}: {f.detail}</li>
        )))}
      </ul>
    </>
  );
}
