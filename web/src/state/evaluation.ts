/** A loaded evaluation (`evgrid eval --out`): its means, intervals and counts are shown as they stand in the file. */
export interface Interval {
  mean: number | null; low: number | null; high: number | null; n: number; wins: number; ties: number; losses: number;
}
export interface Evaluation {
  file: string; scenario: string; policy: string; reference: string; episodes: number; seed: number;
  source: string; means: Record<string, number | null>; referenceMeans: Record<string, number | null>;
  differences: Record<string, Interval>; commit: string;
}

type Json = Record<string, unknown>;
const isObject = (v: unknown): v is Json => typeof v === "object" && v !== null && !Array.isArray(v);
const num = (v: unknown): number | null => (typeof v === "number" && Number.isFinite(v) ? v : null);
/** Is this the JSON of an evaluation? */
export const isEvaluation = (v: unknown): v is Json =>
  isObject(v) && typeof v.schema === "string" && v.schema.startsWith("evgrid.eval/");

/** The runs of an evaluation, one a scenario and policy, as the tiles show them; throws where it is not whole. */
export function readEvaluation(file: string, body: Json): Evaluation[] {
  const policies = isObject(body.policies) ? body.policies : {};
  const provenance = isObject(body.provenance) ? body.provenance : {};
  const out: Evaluation[] = [];
  for (const run of Array.isArray(body.runs) ? body.runs.filter(isObject) : []) {
    const reference = String(run.reference);
    const means = isObject(run.policies) ? run.policies : {};
    for (const [policy, found] of Object.entries(isObject(run.differences) ? run.differences : {})) {
      if (!isObject(found)) continue;
      const about = isObject(policies[policy]) ? policies[policy] : {};
      const counts = isObject(about.source_counts) ? about.source_counts : {};
      out.push({
        file, policy, reference, scenario: String(run.scenario), episodes: Number(body.episodes),
        seed: Number(body.seed), commit: String(provenance.commit ?? ""),
        source: Object.entries(counts).map(([k, v]) => `${k} ${String(v)}`).join(", ") || String(about.acted ?? ""),
        means: (means[policy] ?? {}) as Record<string, number | null>,
        referenceMeans: (means[reference] ?? {}) as Record<string, number | null>,
        differences: Object.fromEntries(
          Object.entries(found).filter((e): e is [string, Json] => isObject(e[1])).map(([name, d]) => [name, interval(d)]),
        ),
      });
    }
  }
  if (out.length === 0) throw new Error("The evaluation holds no pair of policies.");
  return out;
}

const interval = (d: Json): Interval => ({
  mean: num(d.mean), low: num(d.low), high: num(d.high), n: num(d.n) ?? 0, wins: num(d.wins) ?? 0,
  ties: num(d.ties) ?? 0, losses: num(d.losses) ?? 0,
});
