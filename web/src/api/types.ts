/** What the server sends. Names and units are the server's; nothing here is computed. */

export type LaneName = "baseline" | "oracle";
export const LANES: readonly LaneName[] = ["baseline", "oracle"];
export type LonLat = [number, number];
export type Column = ArrayLike<number>;
export type MaybeColumn = ArrayLike<number | null>;

export interface Station {
  id: string; name: string; at: LonLat; rate: string; slots: number; site_limit_kw: number;
  transformer_kva: number; price_inr_kwh: number; feeder: number; bus: number; feeder_id: string;
}
export interface Feeder { id: string; name: string; rating_kva: number; substation: string }
export interface Buses {
  id: string[]; feeder: number[]; parent: number[]; km: number[]; v_min_pu: number; v_max_pu: number;
}
export interface Road { class: string; name: string; path: LonLat[] }
export interface Place { name: string; name_kn: string; at: LonLat; kind: string; rank: number }
export interface ScheduledEvent {
  tick: number; kind: string; targets: string[]; value: number; announced_ticks: number; sd: number; label: string;
}
export interface Scenario {
  name: string; sentence: string; start: string; season: string; day_type: string; story_seed: number;
  events: ScheduledEvent[];
}
export interface KpiFact { name: string; unit: string; better: string; sentence: string }
export interface TermFact { name: string; unit: string; role: string; sentence: string }
export interface FlagFact { name: string; threshold: number; unit: string; sentence: string }
export interface CityFacts {
  id: string; name: string; discom: string; sha256: string; bbox: [number, number, number, number];
  step_minutes: number; stations: Station[]; feeders: Feeder[]; buses: Buses; roads: Road[]; places: Place[];
  zones: { id: string; name: string; at: LonLat }[]; scenarios: Scenario[]; fleets: string[]; policies: string[];
  terms: TermFact[]; flags: FlagFact[]; role_kpis: KpiFact[]; kpis: KpiFact[];
}

/** Stations, feeders, buses and waiting cars at the start of a tick. */
export interface State {
  minute_of_day: number; occupied: Column; queued: Column; inbound: Column; slots_up: Column; supplied: boolean[];
  price_inr_kwh: MaybeColumn; limit_kw: MaybeColumn; feeder_load_pct: MaybeColumn; feeder_limit_pct: MaybeColumn;
  feeder_heat_frac: MaybeColumn; feeder_min_voltage_pu: MaybeColumn; bus_voltage_pu: MaybeColumn;
  grid_load_pct: number; renewable_frac: number; waiting: Waiting[];
}
export interface Waiting { id: string; at: LonLat; persona: string; critical: boolean; waited_min: number }
export interface WireRoute { path: Column | LonLat[]; minutes: Column; congestion: MaybeColumn }
export interface WireCar {
  id: string; walkin: boolean; station_id: string; depart_min: number; eta_min: number;
  reroute_reason: string | null; route?: WireRoute | null;
}
export interface Render { cars: WireCar[]; arrived: string[] }
export interface Answer {
  ev_id: string | null; action_type: string; station: number; charge_rate: string; rate_kw: number;
  defer_minutes: number; confidence: number; code: string;
}
export interface Frame {
  tick: number; minute_of_day: number; source: string; text: string | null; refused: boolean; answers: Answer[];
  reward: number; breakdown: Record<string, number>; settle: Record<string, number> | null;
  flags: Record<string, number>; done: boolean; digest: string; pending: number; deferred: number;
  grid_load_pct: number; renewable_frac: number; carbon_g_kwh: number; occupied: Column; queued: Column;
  station_kw: Column; feeder_kva: Column; feeder_base_kva: Column; feeder_rating_kva: Column; feeder_heat: Column;
}
export interface Badge { asked: string; acted: string; source: string; note: string; label: string }
export interface FlagDetail { name: string; count: number; threshold: number; unit: string; detail: string }
export interface LaneEvent {
  frame: Frame; after: State; render: Render; flags: FlagDetail[]; errors: { code: string; message: string }[];
  total_reward: number; kpis: Record<string, Record<string, number | null>>;
  episode_kpis: Record<string, number | null> | null; badge: Badge; sources: Record<string, number>;
}
export interface Compared { baseline: number | null; oracle: number | null; delta: number | null; ahead: string }
export type Comparison = Record<string, Compared>;
export interface TickEvent {
  type: "tick"; session_id: string; seq: number; tick: number; done: boolean; events: ScheduledEvent[];
  lanes: Record<LaneName, LaneEvent>; compare: { so_far: Comparison; episode: Comparison | null };
}
export interface SpawnEvent {
  type: "spawn"; session_id: string; seq: number; tick: number; car: Record<string, unknown>;
  ev_id: Partial<Record<LaneName, string>>;
}
export interface ErrorEvent { type: "error"; code: string; message: string }
export type DemoEvent = TickEvent | SpawnEvent;
export interface Recipe {
  city: { id: string; sha256: string }; options: Record<string, unknown>; policies: Record<LaneName, string>;
  spawned: { tick: number; car: Record<string, unknown> }[]; ticks_played: number;
}
export interface SessionState {
  session_id: string; tick: number; ticks: number; minute_of_day: number; done: boolean; next_seq: number;
  seed: number; scenario: string; schedule: ScheduledEvent[]; recipe: Recipe;
  start: Record<LaneName, State & { render: Render }>; lanes: Record<LaneName, { badge: Badge }>;
  /** What the lane `oracle` plays, where it is a trace file. */
  trace?: { policy: string; ticks: number };
}
export interface InspectAnswer {
  ev_id: string | null; action_type: string; station_id: string | null; charge_rate: string; defer_minutes: number;
  code?: string; verdict?: string;
}
export interface Inspection {
  lane: LaneName; tick: number; source: string; same_world: boolean; prompt: string | null; pending: string[];
  text: string; text_is: string;
  parse: { ok: boolean; actions: number; errors: { code: string; line: number; message: string; hint: string }[] };
  answers: InspectAnswer[]; waterfall: { name: string; value: number }[]; settle: Record<string, number> | null;
  total: number; flags: Record<string, number>; other: { policy: string; answers: InspectAnswer[] } | null;
}

/** The two-agent game. */
export type Agent = "grid_operator" | "fleet_dispatcher";
export interface Verdict { agent: Agent; kind: string; text: string; verdict: string; points: number }
export interface GameTick {
  tick: number; directive: Record<string, unknown>; messages: Record<Agent, string>; verdicts: Verdict[];
  violations: Record<string, unknown>[]; flags: string[]; rewards: Record<Agent, number | null>;
  breakdown: Record<Agent, Record<string, number>>; totals: Record<Agent, number>; negotiation: Record<Agent, number>;
}
export interface RoleView {
  view: Record<string, unknown>; info: Record<string, unknown>; reward: number | null;
}
export interface GameReply {
  session_id: string; tick: number; done: boolean; observations: Record<Agent, RoleView>;
  totals: Record<Agent, number>; negotiation: Record<Agent, number>; timeline: GameTick[];
}
export interface Fault { code: string; message: string; hint: string }
