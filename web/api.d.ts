// What the server answers, route by route. Made from the Rust types that handlers return, by the test
// `the_pages_know_every_route_and_what_it_answers` (server/console/tests/http/answers), which also compares every answer
// that a test gets with it. Not to be edited: BLESS=1 cargo test --workspace --test http the_pages_know

export interface Activity {
  interval_ms: number;
  host: HostActivity;
  processes_total: number;
  processes_unread: number;
  processes: ProcessActivity[];
  users_total: number;
  users: UserActivity[];
  containers_total: number;
  containers: ContainerActivity[];
  disks_total: number;
  disks: DiskActivity[];
  networks_total: number;
  networks: NetworkActivity[];
}

export interface AgainstHistogram {
  buckets: [ShownCell, ShownCell][];
  here: number[];
  there: number[];
}

export interface AgainstKey {
  name: string;
  display: Display;
}

export type AgainstKind = "amount" | "mean" | "level";

export interface AgainstLine {
  key: ShownCell[];
  filter: string;
  only: OnlySide | null;
  has_inner: boolean;
  values: AgainstValue[];
  histogram?: AgainstHistogram;
}

export interface AgainstMeasure {
  name: string;
  display: Display;
  unit: Unit;
  kind: AgainstKind;
}

export interface AgainstSide {
  start: number;
  end: number;
  rows: number;
  lost: number;
  left_out: number;
}

export interface AgainstTable {
  normalised: Normalised;
  here: AgainstSide;
  there: AgainstSide;
  keys: AgainstKey[];
  measures: AgainstMeasure[];
  lines: AgainstLine[];
  compared: number;
  changed: number;
  only_here: number;
  only_there: number;
  cautions: string[];
}

export interface AgainstValue {
  here: number | null;
  there: number | null;
  by_here: number | null;
  by_there: number | null;
  difference: number | null;
  error: number | null;
  verdict: DifferenceVerdict;
}

export type AgentState = "connected" | "restarting" | "absent";

export interface AgentStatus {
  state: AgentState;
  simulated: boolean;
  message: string;
}

export type AggregateFunction = "count" | "sum" | "average" | "minimum" | "maximum" | "statistics" | "histogram";

export interface Annotation {
  function: string;
  samples: number;
  own: number;
  places: PlaceLine[];
  more_places: number;
  shown: ShownCode | null;
}

export interface Answer {
  columns: ResultColumn[];
  rows: ShownCell[][];
  truncated?: AnswerCut;
  elapsed_ms: number;
  scanned: Scanned;
}

export type AnswerCut = "rows" | "bytes";

export interface Answered {
  asked: string;
  start: number;
  lines: string[];
}

export interface ApiTokenItem {
  id: string;
  owner: string;
  name: string;
  role: Role;
  enabled: boolean;
  created_unix_ns: number;
  expires_unix_ns: number;
  last_used_unix_ns: number | null;
}

export interface AppliedTransform {
  text: string;
  words: string;
  samples: number;
  problem: string | null;
}

export type ArgumentKind = "number" | "boolean" | "enumeration" | "text" | "pointer" | "structure" | "union" | "array" | "other";

export interface ArgumentList {
  nodes: ArgumentNode[];
  left_out: number;
  note: string;
}

export interface ArgumentNode {
  name: string;
  expr: string;
  type: string;
  bytes: number | null;
  bit_offset: number | null;
  bits: number | null;
  kind: ArgumentKind;
  formats: ValueFormat[];
  late: boolean;
  constants: NamedConstant[];
  opens: boolean;
  memory: boolean;
  note: string;
}

export interface AskedCalls {
  target: Target | null;
  syscalls: SyscallSpec;
  notes: string[];
}

export interface At {
  snapshot: number;
  time: number;
}

export interface AuditLine {
  number: number;
  time_unix_ns: number;
  user: string;
  role: string;
  action: string;
  object: string;
  detail: string;
}

export type BaselineVerdict = "better" | "worse" | "higher" | "lower" | "no_difference" | "too_few" | "lost_rows";

export interface Below {
  pid: number;
  direct: boolean;
}

export interface BinnedList {
  tick_streams: number[];
  ticks: Track[];
  counters: CounterTrack[];
  more: number;
}

export interface BlockItem {
  id: InvestigationId;
  content: ToldBlock;
  author: string;
  changed_unix_ns: number;
  changed_by: string;
  version: number;
}

export type BranchFilter = "any" | "any_call" | "any_ret" | "ind_call" | "ind_jmp" | "cond" | "call" | "u" | "k" | "hv" | "in_tx" | "no_tx" | "abort_tx" | "save_type";

export interface Bucket {
  low: ShownCell;
  high: ShownCell;
  count: number;
}

export interface Budgets {
  rows_per_s?: number;
  bytes_per_s?: number;
  agent_cpu_permille: number;
  agent_bytes: number;
}

export interface CallBoxes {
  id: number[];
  start: number[];
  duration: number[];
  level: number[];
  name: number[];
  state: number[];
  more: number[];
}

export interface CallChart {
  start: number;
  end: number;
  width: number;
  by: Lanes;
  coarse: boolean;
  lanes: Lane[];
  names: string[];
  more_lanes: number;
  hidden: number;
  left_out: number;
}

export type CallGraph = "frame_pointer" | "dwarf" | "lbr";

export interface CallLine {
  id: number;
  function: string;
  start: number;
  duration: number;
  own: number;
  cpu: number;
  pid: number;
  tid: number;
  comm: string;
  depth: number;
  state: CallState;
  children: number;
  inner: number;
  hit: boolean;
  gap: boolean;
}

export interface CallPage {
  total: number;
  offset: number;
  calls: CallLine[];
  chosen: number;
  left_out: number;
  threads?: CallThread[];
}

export interface CallPlace {
  path: CallStep[];
  call: CallLine;
}

export type CallState = "returned" | "unfinished" | "unstarted";

export interface CallStep {
  id: number;
  index: number;
}

export interface CallThread {
  tid: number;
  pid: number;
  comm: string;
  calls: number;
}

export interface Capability {
  id: string;
  title: string;
  purpose: string;
  state: CapabilityState;
  finding: string;
  remedy: string;
}

export type CapabilityState = "available" | "missing_privilege" | "missing_kernel_feature" | "refused" | "missing_hardware" | "unknown";

export interface CaptureAddress {
  id: CaptureId;
  url: string;
}

export interface CaptureComparison {
  streams: ComparedStream[];
  only_a: string[];
  only_b: string[];
  left_out: number;
  names: ComparedName[];
  names_compared: number;
  names_changed: number;
}

export interface CaptureDeleted {
  restorable_until_unix_ns: number | null;
}

export type CaptureId = string;

export interface CaptureItem {
  id: CaptureId;
  title: string;
  state: CaptureState;
  method: string;
  target: string;
  host: string;
  started_unix_ns: number;
  duration_ns: number;
  rows: number;
  bytes: number;
  lost: number;
  lost_at_least: boolean;
  pinned: boolean;
  kept_until_unix_ns?: number;
  can_pin?: boolean;
  owner: string;
  imported: boolean;
  simulated: boolean;
  tags: string[];
  series?: ItemSeries;
  found?: FoundPlace[];
  left_out_bytes?: number;
}

export interface CaptureList {
  total: number;
  total_exceeded: boolean;
  items: CaptureItem[];
  retention: Retention;
  unsearched: Unsearched | null;
  sort: string;
  hint: string | null;
}

export interface CaptureMark {
  time: number;
  text: string;
  author: string;
}

export interface CapturePage {
  id: CaptureId;
  title: string;
  state: CaptureState;
  reason: string;
  spec: CaptureSpec;
  host: HostFacts;
  started_unix_ns: number;
  start_ns: number;
  end_ns: number;
  streams: Stream[];
  weights: OfferedWeight[];
  ledger: Ledger;
  lost: number;
  lost_at_least: boolean;
  readings: (Reading | null)[];
  output_bytes: number;
  bytes: number;
  pinned: boolean;
  imported: boolean;
  simulated: boolean;
  owner: string;
  hints: string[];
  sources: SourceEnd[];
  computed: ComputedStreams;
  firing: FiringItem | null;
  running: boolean;
  flight: FlightStatus | null;
  stored: CaptureId[];
  fire_token: FireToken | null;
  can_change: boolean;
  can_delete: boolean;
  can_pin: boolean;
  can_give: boolean;
  is_limited: boolean;
  kept_until_unix_ns: number | null;
  public_url: string | null;
  tags: string[];
  description: string;
  share: ReadShare | null;
  no_shares: string | null;
  run: CaptureRun | null;
  marks: CaptureMark[];
}

export type CaptureRight = "read" | "change";

export interface CaptureRights {
  owner: string;
  list: GivenRight[] | null;
  tags: TagRights[];
  links: number;
  people: string[];
  groups: string[];
  elsewhere: GroupsElsewhere;
}

export interface CaptureRun {
  series: SeriesId;
  runs: number;
  again_of: CaptureId | null;
  baseline: CaptureId | null;
}

export interface CaptureSpec {
  name: string;
  sources: SourceSpec[];
  target: Target;
  limits: Limits;
}

export type CaptureState = "recording" | "finished" | "interrupted" | "failed" | "agent_lost";

export interface CheckedMap {
  name: string;
  kind: MapKind;
}

export interface CheckedPredicate {
  ok: boolean;
  normal?: string;
  message?: string;
  offset?: number;
}

export interface CheckedProbe {
  name: string;
  line: number;
  attached: number;
}

export interface CheckedScript {
  ok: boolean;
  messages: ScriptMessage[];
  probes: CheckedProbe[];
  maps: CheckedMap[];
  compile_ms: number;
  pasted?: Pasted;
}

export interface ChosenFor {
  name: string;
}

export type CodePlace = string;

export interface CodeRow {
  at: number;
  address: number | null;
  bytes: string;
  text: string;
  flow: Flow;
  target: number | null;
  calls: string | null;
  samples: number;
  source: number | null;
  left_out: number;
}

export interface ColumnHead {
  name: string;
  type: ColumnType;
  display: Display;
}

export interface ColumnInfo {
  name: string;
  type: ColumnKind;
  display: Display;
}

export type ColumnKind = "i64" | "f64" | "text" | "stack" | "any";

export type ColumnType = "u64" | "i64" | "text" | "stack";

export interface Commands {
  may_run: boolean;
  why: string;
  remedy: string;
  start: string;
  users: string[];
  any_user: boolean;
}

export interface ComparedCapture {
  id: CaptureId;
  title: string;
  state: CaptureState;
  reason: string;
  started_unix_ns: number;
  duration_ns: number;
  rows: number;
  bytes: number;
  lost: number;
  lost_at_least: boolean;
  losses: ComparedLoss[];
  cpu_permille: number | null;
  simulated: boolean;
  imported: boolean;
}

export interface ComparedCaptures {
  a: ComparedCapture;
  b: ComparedCapture;
  cautions: string[];
  spec: SpecLine[];
  host: ComparedFact[];
  rows: CaptureComparison;
  functions: ComparedFunctions;
}

export interface ComparedColumn {
  column: string;
  display: Display;
  unit: Unit;
  numbers: ComparedNumber[];
  buckets: [ShownCell, ShownCell][];
  a: number[];
  b: number[];
}

export interface ComparedFact {
  what: string;
  a: string;
  b: string;
  same: boolean;
}

export interface ComparedFunction {
  name: string;
  kind: NodeKind;
  own: number;
  total: number;
  other_own: number;
  other_total: number;
  difference: number;
  error: number;
  is_significant: boolean;
}

export interface ComparedFunctions {
  items: ComparedFunction[];
  compared: number;
  changed: number;
  a_total: number;
  b_total: number;
  unit: string;
  why_not: string | null;
}

export interface ComparedLoss {
  stage: string;
  stream: string;
  count: number;
}

export interface ComparedName {
  kind: string;
  stream: number;
  name: string;
  filter: string;
  a: MeasuredNumber;
  b: MeasuredNumber;
  difference: number;
  verdict: DifferenceVerdict;
}

export interface ComparedNumber {
  what: string;
  a: MeasuredNumber;
  b: MeasuredNumber;
  difference: number;
  error: number | null;
  verdict: DifferenceVerdict;
}

export interface ComparedStream {
  name: string;
  source: string;
  computed: boolean;
  a: ComparedStreamSide;
  b: ComparedStreamSide;
  numbers: ComparedNumber[];
  columns: ComparedColumn[];
  left_out: number;
}

export interface ComparedStreamSide {
  stream: number;
  rows: number;
  lost: number;
}

export interface CompletedCommand {
  start: number;
  end: number;
  items: CompletedName[];
}

export interface CompletedName {
  text: string;
  label: string;
  detail: string;
}

export interface Completion {
  label: string;
  insert: string;
  kind: string;
  detail: string;
}

export interface Completions {
  start: number;
  items: Completion[];
}

export interface ComputedProgress {
  done: number;
  of: number;
}

export interface ComputedRule {
  number: number;
  name: string;
  state: DerivationState;
  reason: string;
  streams: number[];
  rows: number;
  bytes: number;
  untold: Untold[];
  untold_note: string | null;
  span: string | null;
}

export interface ComputedStreams {
  rules: ComputedRule[];
  possible: string[];
  is_busy: boolean;
  progress: ComputedProgress | null;
}

export interface ContainerActivity {
  name: string;
  runtime: string;
  processes: number;
  cpu_permille: number;
  memory_bytes: number;
  faults_per_s: number;
  read_bytes_per_s: number;
  written_bytes_per_s: number;
}

export interface CountLine {
  of: number;
  values: (number | null)[];
}

export type CountPer = "total" | "cpu" | "thread";

export interface CountSpec {
  groups: string[][];
  interval_ms: number;
  per: CountPer;
  cpus?: number[];
  everywhere?: boolean;
  cgroup?: string;
  detail?: number;
  dynamic?: DynamicProbe[];
  delay_ms?: number;
}

export interface CountView {
  counts: Counted[];
  at: number[];
  joined: number;
  lines: CountLine[];
  more_lines: number;
  left_out: number;
}

export interface Counted {
  event: string;
  scope: string;
  value: number;
  is_clock: boolean;
  unit: string;
  range: ValueRange | null;
  counted: boolean;
  running_ns: number;
  span_ns: number;
  share: number | null;
  derived: Derived | null;
  state: string;
}

export interface CounterTrack {
  key: string;
  label: string;
  sub: string;
  rows: number;
  pid: number | null;
  tid: number | null;
  cpu: number | null;
  is_clock?: boolean;
  is_gauge?: boolean;
  unit?: string;
  most: number;
}

export interface CriticalPath {
  start: number;
  end: number;
  threads: PathThread[];
  parts: PathPart[];
  waits: PathWait[];
  shares: PathShare[];
  waited: PathWaited[];
  sums: PathSum[];
  stopped: PathStop | null;
  recorded: PathRecorded;
}

export interface Cursor {
  time: number;
  skip: number;
}

export interface DeletedItem {
  id: CaptureId;
  title: string;
  owner: string;
  started_unix_ns: number;
  bytes: number;
  deleted_unix_ns: number;
  deleted_by: string;
  restorable_until_unix_ns: number;
}

export interface DeletedList {
  items: DeletedItem[];
}

export interface DeliveryItem {
  webhook: string;
  capture?: string;
  title: string;
  trigger: string;
  fired_unix_ns: number;
  state: string;
  attempts: number;
  status?: number;
  error: string;
  changed_unix_ns: number;
}

export type DerivationState = "following" | "computing" | "complete" | "failed" | "removed";

export interface Derived {
  value: number;
  unit: string;
}

export interface DescribedField {
  name: string;
  column: string;
  type: string;
  kind: string;
  signed: boolean;
  size: number;
  recordable: boolean;
  note: string;
}

export interface DescribedHost {
  facts: HostFacts;
  agent: AgentStatus;
  capabilities: Capability[];
  trouble: string | null;
  panics: number;
}

export interface DescribedTracepoint {
  name: TracepointName;
  fields: DescribedField[];
}

export type DescriptorKind = "file" | "socket" | "pipe" | "other";

export type Descriptors = "none" | "all" | {
  of: number[];
};

export interface Detached {
  detached: string[];
}

export type DifferenceVerdict = "beyond_chance" | "within_chance" | "too_few" | "lost_rows" | "untested";

export interface DiskActivity {
  name: string;
  busy_permille: number;
  reads_per_s: number;
  writes_per_s: number;
  read_bytes_per_s: number;
  written_bytes_per_s: number;
}

export type Display = "decimal" | "hex" | "time_ns" | "duration_ns" | "text";

export interface Distribution {
  column: string;
  display: Display;
  unit: Unit;
  start: number;
  end: number;
  low: ShownCell | null;
  high: ShownCell | null;
  rows: number;
  without: number;
  below: number;
  above: number;
  buckets: [ShownCell, ShownCell][];
  all: DistributionGroup;
  by: string;
  groups: DistributionGroup[];
  more_groups: number;
  is_cut: boolean;
}

export interface DistributionGroup {
  value: ShownCell | null;
  filter: string;
  rows: number;
  least: ShownCell | null;
  most: ShownCell | null;
  mean: number;
  sum: number;
  percentiles: [number, ShownCell][];
  counts: number[];
}

export type DynamicProbe = DynamicProbeForm;

export type DynamicProbeForm = string | Parts;

export interface Entries {
  items: AuditLine[];
}

export interface Event {
  group: string;
  name: string;
  line: string;
  hits: number | null;
  missed: number | null;
  marks: string[] | null;
  owner: EventOwner | null;
  detached: boolean;
  capture: CaptureId | null;
  label: string | null;
  can_detach: boolean;
}

export interface EventOwner {
  pid: number;
  this: boolean;
  ended: boolean;
}

export interface EventProbe {
  tracepoint: TracepointName;
  fields: string[];
  predicate?: string;
}

export interface Events {
  events: Event[];
  optimization: boolean | null;
  limits: ProbeLimit[];
}

export interface ExamplesExample {
  title: string;
  sql: string;
}

export interface ExplainedText {
  words: string;
  capture?: PlannedCapture;
  page?: Page;
  stored?: StoredView;
  probes?: ProbeChanges;
  script?: string;
  refused?: RefusedText;
  spans: Span[];
  notes: Note[];
}

export interface Facet {
  column: ColumnHead;
  distinct: number;
  found: number;
  missing: number;
  left_out: number;
  values: FacetValue[];
  bars: FacetBar[];
  log: boolean;
}

export interface FacetBar {
  low: ShownCell;
  high: ShownCell;
  rows: number;
}

export interface FacetValue {
  value: ShownCell;
  literal: string | null;
  rows: number;
}

export interface Facets {
  rows: number;
  looked_at: number;
  total: number;
  facets: Facet[];
}

export interface FireToken {
  made_by: string;
  created_unix_ns: number;
}

export interface FiringItem {
  recorder: CaptureId;
  kind: FiringKind;
  trigger: string;
  value: string;
  fired: number;
  fired_unix_ns: number;
  complete_from: number;
}

export type FiringKind = "hand" | "row" | "pressure" | "exit" | "schedule" | "token";

export interface FlameCut {
  nodes: number;
  samples: number;
}

export interface FlameDifference {
  graph: FlameGraph;
  other: number[];
  other_totals: number[];
  other_left_out: LeftOutRows;
  scales: number[];
  normalised: Normalised;
  functions: ComparedFunction[];
  compared: number;
  significant: number;
}

export interface FlameGraph {
  unit: string;
  counted: string;
  left_out: LeftOutRows;
  total: number;
  recorded: number;
  transforms: AppliedTransform[];
  focus_total: number;
  focus: NodeId | null;
  max_depth: number;
  names: string[];
  modules: string[];
  nodes: Nodes;
  cut: FlameCut;
  matched_samples: number;
  unresolved: number;
}

export interface FlightSpec {
  before_s: number;
  after_s: number;
  memory_mib: number;
  pause_s: number;
  per_day: number;
  triggers?: FlightTrigger[];
  announce?: string[];
}

export interface FlightStatus {
  before_s: number;
  after_s: number;
  held_ns: number;
  held_rows: number;
  held_bytes: number;
  memory_bytes: number;
  is_short: boolean;
  is_storing: boolean;
  captures: number;
  last?: CaptureId;
  held_back: number;
  trouble?: string;
}

export type FlightTrigger = string;

export type Flow = "next" | "jump" | "call" | "return";

export type FlowKind = "wake_up" | "interrupt" | "idle" | "start" | "issue" | "completion";

export type FlowWay = "from" | "to";

export interface ForecastItem {
  id: CaptureId;
  title: string;
  owner: string;
  tags: string[];
  bytes: number;
  goes_unix_ns: number | null;
  rule: string | null;
  after_bytes: number | null;
}

export type FormAction = {
  kind: "record";
} | {
  kind: "print";
  format: string;
} | {
  kind: "aggregate";
  map: string;
  function: AggregateFunction;
  of: string;
} | {
  kind: "linear_histogram";
  map: string;
  of: string;
  min: number;
  max: number;
  step: number;
};

export interface FoundCall {
  total: number;
  number: number;
  place: CallPlace | null;
}

export interface FoundHit {
  time: number;
  start: number;
  end: number;
  stream: number;
  name: string;
  row: number;
  key: string;
  of_stream: number | null;
  fields: RowFields;
  column: number;
  before: number | null;
}

export interface FoundInStream {
  stream: number;
  name: string;
  rows: number;
}

export interface FoundOnCpu {
  cpu: number;
  runs: number[];
}

export interface FoundOnTrack {
  key: string;
  of_stream: number | null;
  runs: number[];
  long: number[];
}

export interface FoundPlace {
  field: string;
  text: string;
  marks: number[][];
}

export interface FoundProbes {
  total: number;
  kinds: KindCount[];
  items: WireItem[];
}

export interface FoundRows {
  start: number;
  end: number;
  columns: number;
  streams: FoundInStream[];
  marked: number[];
  counts: number[];
  tracks: FoundOnTrack[];
  cpus: FoundOnCpu[];
  left_out: number;
  long_left_out: number;
  looked_at: number;
  rows: number;
  next: number | null;
}

export interface FoundSite {
  site: string;
  kind: string;
  title: string;
  name: string;
  in?: string;
  note: string;
  prototype: string;
  works: boolean;
  file: string;
}

export interface FoundSites {
  total: number;
  items: FoundSite[];
}

export interface FoundStep {
  row: FoundHit | null;
  next: number | null;
  looked_at: number;
}

export interface FoundTracepoint {
  total: number;
  items: TracepointName[];
}

export interface FunctionRow {
  function: string;
  part?: string;
  cpu?: number;
  tid?: number;
  calls: number;
  cut: number;
  total: number;
  own: number;
  average: number;
  median: number;
  p99: number;
  longest: number;
  longest_id: number | null;
  irqs?: IrqShare[];
}

export interface Functions {
  file: string | null;
  total: number;
  items: string[];
  hint?: string;
}

export interface FunctionsPage {
  total: number;
  offset: number;
  rows: FunctionRow[];
  chosen: number;
  left_out: number;
  own: number;
  irqs: boolean;
}

export interface GivenRight {
  to: RightHolder;
  may: CaptureRight;
}

export type GoodWay = "less" | "more";

export interface GroupItem {
  name: string;
  people: string[];
}

export interface Groups {
  total: number;
  items: GroupsGroup[];
}

export interface GroupsElsewhere {
  proxy: string[] | null;
  oidc: string[] | null;
  provider: string | null;
}

export interface GroupsGroup {
  path: string;
  unit?: string;
  container?: NamedContainer;
}

export interface HeatCells {
  column: number[];
  row: number[];
  count: number[];
}

export interface HeatColumn {
  from: number;
  snapshot: number;
  time: number;
  counts: number[];
}

export interface HeatMap {
  column: string;
  display: Display;
  unit: Unit;
  start: number;
  end: number;
  begin: number;
  step: number;
  columns: number;
  buckets: [ShownCell, ShownCell][];
  cells: HeatCells;
  low: ShownCell | null;
  high: ShownCell | null;
  rows: number;
  without: number;
  below: number;
  above: number;
  looked_at: number;
  total: number;
  next: number | null;
}

export interface HeatPair {
  here: HeatMap;
  there: HeatMap;
  here_ns: number;
  there_ns: number;
}

export interface HeatView {
  buckets: [ShownCell, ShownCell][];
  columns: HeatColumn[];
  most: number;
  snapshots_per_column: number;
  unit: Unit;
}

export type HexTexts = "none" | "non_ascii" | "characters" | "all";

export interface Hidden {
  what: string;
  remedy: string;
}

export interface HistogramView {
  at: At | null;
  since: At | null;
  unit: Unit;
  keys: KeyTotal[];
  more_keys: number;
  buckets: Bucket[];
  total: number;
}

export interface HostActivity {
  cpus: number;
  cpu_permille: number;
  running: number;
  blocked: number;
  load: number[];
  memory_bytes: number;
  memory_available_bytes: number;
  swap_bytes: number;
  swap_used_bytes: number;
  faults_per_s: number;
  major_faults_per_s: number;
  pressure: HostPressure | null;
}

export interface HostFacts {
  hostname: string;
  kernel_release: string;
  machine: string;
  cpus: number;
  memory_bytes: number;
  boot_id: string;
  kernel_build_id: string;
  target_name?: string;
}

export interface HostPressure {
  cpu: Pressure;
  memory: Pressure;
  io: Pressure;
}

export interface Hover {
  title: string;
  text: string;
  start: number;
  end: number;
}

export interface Hovered {
  hover: Hover | null;
}

export interface ImportAnswer {
  id: CaptureId;
  url: string;
  read_cpu_ns: number | null;
}

export interface InvestigationAnswer {
  head: InvestigationHead;
  conclusion: string;
  conclusion_body: MarkdownNode[];
  blocks: BlockItem[];
  can_write: boolean;
  public_url: string | null;
  share: ReadShare | null;
  no_shares: string | null;
}

export interface InvestigationHead {
  id: InvestigationId;
  title: string;
  state: InvestigationState;
  owner: string;
  created_unix_ns: number;
  changed_unix_ns: number;
  changed_by: string;
  deleted_unix_ns: number | null;
  version: number;
  blocks: number;
  can_delete: boolean;
}

export type InvestigationId = string;

export interface InvestigationList {
  items: InvestigationHead[];
  templates: InvestigationTemplate[];
  can_write: boolean;
}

export type InvestigationState = "open" | "found" | "closed";

export interface InvestigationTemplate {
  name: string;
  title: string;
}

export interface IrqShare {
  name: string;
  count: number;
}

export interface Item {
  name: string;
  title: string;
  about: string;
  id: CaptureId | null;
}

export interface ItemSeries {
  id: SeriesId;
  runs: number;
}

export type KeyId = string;

export interface KeyTotal {
  id: KeyId;
  key: ShownCell[];
  total: number;
}

export type KeyWhat = "count" | "rate" | "p50" | "p99" | "hottest_function" | "hottest_process" | "function_share" | "process_share";

export interface KindCount {
  kind: string;
  count: number;
}

export interface Kinds {
  kinds: WireKind[];
}

export interface Lane {
  key: string;
  label: string;
  sub: string;
  calls: number;
  levels: number;
  boxes: CallBoxes;
}

export type Lanes = "thread" | "cpu";

export interface Language {
  examples: LanguageExample[];
  entries: LanguageEntry[];
}

export interface LanguageEntry {
  name: string;
  group: string;
  signature: string;
  about: string;
}

export interface LanguageExample {
  name: string;
  section: string;
  title: string;
  about: string;
  script: string;
}

export interface Ledger {
  streams: StreamTotals[];
  losses: Loss[];
}

export interface LeftOutRows {
  missing: number;
  negative: number;
}

export interface LeftOutSite {
  name: string;
  why: string;
}

export interface LibraryEntryItem {
  id: number;
  kind: LibraryKind;
  name: string;
  owner: string;
  description: string;
  tags: string[];
  shared: boolean;
  version: number;
  created_unix_ns: number;
  changed_unix_ns: number;
  deleted_unix_ns: number | null;
  can_change: boolean;
}

export type LibraryKind = "probe" | "script" | "recipe" | "filter" | "query" | "selection" | "search";

export interface LibraryList {
  items: LibraryEntryItem[];
  can_keep: boolean;
}

export interface LibraryThing {
  id: number;
  kind: LibraryKind;
  name: string;
  owner: string;
  description: string;
  tags: string[];
  shared: boolean;
  version: number;
  created_unix_ns: number;
  changed_unix_ns: number;
  deleted_unix_ns: number | null;
  can_change: boolean;
  text: string;
  versions: LibraryVersion[];
}

export interface LibraryVersion {
  version: number;
  author: string;
  saved_unix_ns: number;
  text: string;
}

export interface Limits {
  duration_ms: number | null;
  max_events: number | null;
  max_bytes: number | null;
  budget_cpu_permille: number;
  budgets?: Budgets;
  over_budget?: OverBudget;
  reading?: ReadingPriority;
  flight?: FlightSpec;
}

export interface LinkItem {
  id: string;
  user: string;
  role: Role;
  ends_in_s: number;
  session_ends_in_s: number;
}

export interface Listed {
  sessions: Shown[];
  links: LinkItem[];
}

export interface Listing {
  text: string;
  messages: ScriptMessage[];
}

export interface Loss {
  stream: number | null;
  stage: LossStage;
  count: number;
  start_ns: number;
  end_ns: number;
}

export type LossStage = "kernel_missed" | "limited" | "ring_full" | "map_full" | "stack_lost" | "helper_failed" | "decode" | "store" | "interrupted" | "not_kept";

export interface MadeApiToken {
  token: string;
  item: ApiTokenItem;
}

export interface MadeId {
  id: InvestigationId;
}

export interface MadeInvitation {
  path: string;
  expires_unix_ns: number;
}

export interface MadeShare {
  share: ShareItem;
  path: string;
  left_out: string[];
}

export interface MadeToken {
  token: string;
  url: string;
}

export interface MadeWebhook {
  name: string;
  secret: string;
}

export interface MapInfo {
  n: number;
  name: string;
  kind: MapKind;
  key: string[];
  value: string[];
  snapshots: number;
  last: number;
  resets: boolean;
  unit: Unit;
  views: string[];
}

export type MapKind = "histogram" | "time_series" | "stats" | "count" | "sum" | "min" | "max" | "average" | "value";

export interface MapTable {
  at: At | null;
  since: At | null;
  main_column: number | null;
  unit: Unit;
  columns: ColumnHead[];
  key_columns: number;
  rows: ShownCell[][];
  total: number;
  offset: number;
  sum: ShownCell | null;
}

export interface MapTick {
  name: string;
  elements: number;
  read_us: number;
  every_ms: number;
  too_large: boolean;
}

export interface Maps {
  maps: MapInfo[];
}

export interface MarkItem {
  id: number;
  time_unix_ns: number;
  host: string;
  text: string;
  link: string;
  author: string;
}

export interface MarkList {
  items: MarkItem[];
}

export interface MarkdownNode {
  tag: MarkdownTag;
  text?: string;
  href?: string;
  level?: number;
  children?: MarkdownNode[];
}

export type MarkdownTag = "text" | "code" | "break" | "strong" | "emphasis" | "struck" | "link" | "paragraph" | "heading" | "pre" | "quote" | "list" | "numbered" | "item" | "done" | "todo" | "table" | "head" | "row" | "cell" | "rule";

export interface MeasuredNumber {
  value: number;
  error: number | null;
  least: number | null;
  most: number | null;
}

export type Method = {
  events: {
    probes: EventProbe[];
  };
  profile?: undefined;
  count?: undefined;
  script?: undefined;
  trace?: undefined;
  syscalls?: undefined;
  states?: undefined;
} | {
  profile: ProfileSpec;
  events?: undefined;
  count?: undefined;
  script?: undefined;
  trace?: undefined;
  syscalls?: undefined;
  states?: undefined;
} | {
  count: CountSpec;
  events?: undefined;
  profile?: undefined;
  script?: undefined;
  trace?: undefined;
  syscalls?: undefined;
  states?: undefined;
} | {
  script: ScriptSpec;
  events?: undefined;
  profile?: undefined;
  count?: undefined;
  trace?: undefined;
  syscalls?: undefined;
  states?: undefined;
} | {
  trace: TraceSpec;
  events?: undefined;
  profile?: undefined;
  count?: undefined;
  script?: undefined;
  syscalls?: undefined;
  states?: undefined;
} | {
  syscalls: SyscallSpec;
  events?: undefined;
  profile?: undefined;
  count?: undefined;
  script?: undefined;
  trace?: undefined;
  states?: undefined;
} | {
  states: StatesSpec;
  events?: undefined;
  profile?: undefined;
  count?: undefined;
  script?: undefined;
  trace?: undefined;
  syscalls?: undefined;
};

export type NameSet = string;

export interface NameTime {
  name: number;
  time: number;
}

export interface NamedConstant {
  name: string;
  value: number;
}

export interface NamedContainer {
  runtime: string;
  id: string;
  name?: string;
  image?: string;
}

export interface NamedProbe {
  name: string;
  text: string;
}

export interface NetworkActivity {
  name: string;
  received_bytes_per_s: number;
  sent_bytes_per_s: number;
  received_packets_per_s: number;
  sent_packets_per_s: number;
  failed_packets_per_s: number;
}

export type NodeId = string;

export type NodeKind = number;

export interface Nodes {
  id: NodeId[];
  depth: number[];
  x: number[];
  value: number[];
  own: number[];
  name: number[];
  kind: NodeKind[];
  module: number[];
  match: number[];
}

export type Normalised = "total" | "time" | "none";

export interface Note {
  start: number;
  end: number;
  is_ignored: boolean;
  text: string;
}

export type NoteId = string;

export interface NoteItem {
  id: NoteId;
  on: NotePlace;
  start: number | null;
  end: number | null;
  track: string | null;
  view: string;
  text: string;
  plain: boolean;
  body: MarkdownNode[];
  colour: number | null;
  author: string;
  imported_by: string | null;
  created_unix_ns: number;
  changed_unix_ns: number | null;
  changed_by: string | null;
  resolved_unix_ns: number | null;
  resolved_by: string | null;
  version: number;
  can_change: boolean;
}

export interface NoteList {
  items: NoteItem[];
  can_write: boolean;
}

export type NotePlace = {
  kind: "moment";
} | {
  kind: "range";
} | {
  kind: "row";
  stream: number;
  row: number;
} | {
  kind: "track";
} | {
  kind: "frame";
  node: string;
  name: string;
} | {
  kind: "function";
  name: string;
} | {
  kind: "capture";
} | {
  kind: "answer";
  to: NoteId;
};

export interface NoteVersionItem {
  version: number;
  start: number | null;
  end: number | null;
  text: string;
  body: MarkdownNode[];
  colour: number | null;
  saved_unix_ns: number;
  saved_by: string;
}

export interface NoteVersionList {
  items: NoteVersionItem[];
}

export interface OfferedWeight {
  value: string;
  title: string;
  unit: string;
}

export type OnlySide = "here" | "there";

export interface OpenDescriptor {
  fd: number;
  kind: DescriptorKind;
  name: string;
}

export interface OpenFiles {
  comm: string;
  directory: string;
  cut: boolean;
  files: OpenDescriptor[];
}

export interface Output {
  items: OutputItem[];
  offset: number;
}

export interface OutputItem {
  time: number;
  stream: string;
  lines: string[];
}

export type OverBudget = "warn" | "detach";

export interface OwnAccess {
  user: string;
  role: Role;
  by: string;
  groups: OwnGroups | null;
  account: PersonItem | null;
  sessions: OwnSession[];
  tokens: ApiTokenItem[];
  least_chars: number;
  most_chars: number;
  days: number;
  most_days: number;
}

export interface OwnGroups {
  origin: string;
  names: string[];
  left_out: number;
}

export interface OwnSession {
  id: string;
  user: string;
  role: Role;
  age_s: number;
  unused_s: number;
  ends_in_s: number;
  current: boolean;
}

export interface Page {
  path: string;
  parameters: { [key: string]: string };
}

export interface Pairing {
  sites: string[];
  key: string[];
  end_key: string[];
  started: string;
  condition: string;
  values: RecordedValue[];
  duration: boolean;
}

export interface Parameter {
  name: string;
  default: string | null;
  takes: string | null;
  about: string;
}

export interface Partner {
  site: string;
  key: string[];
  end_key: string[];
  meaning: string;
}

export interface Parts {
  typed: string;
  file?: string;
  line?: string;
}

export interface Pasted {
  text: string;
  notes: string[];
}

export type PathGap = "no_wakeup" | "not_woken" | "no_states" | "ended" | "inconsistent";

export type PathKind = "running" | "cpu" | "thread" | "lock" | "disk" | "timer" | "interrupt" | "unknown";

export interface PathPart {
  start: number;
  end: number;
  kind: PathKind;
  thread: number;
  wait?: number;
  cpu?: number;
  had_cpu?: TrackLabel;
  call?: string;
  function?: string;
  ended_by?: string;
  gap?: PathGap;
}

export interface PathRecorded {
  wakeups: boolean;
  interrupts: boolean;
  calls: boolean;
  requests: boolean;
}

export interface PathShare {
  kind: PathKind;
  time: number;
  parts: number;
  longest: number;
}

export interface PathStop {
  time: number;
  limit: number;
}

export interface PathSum {
  thread: number;
  kind: PathKind;
  time: number;
  parts: number;
  longest: number;
}

export interface PathThread {
  tid: number;
  pid: number;
  name: string;
  track: string | null;
}

export interface PathWait {
  thread: number;
  waker: number;
  start: number;
  woken: number;
  is_lock: boolean;
  is_start: boolean;
  call?: string;
  function?: string;
  outer?: number;
}

export interface PathWaited {
  thread: number;
  time: number;
  parts: number;
  longest: number;
}

export interface PerfEventInfo {
  name: string;
  alias: string | null;
  kind: string;
  meaning: string;
  works: boolean;
  why: string;
}

export interface PerfEvents {
  items: PerfEventInfo[];
}

export interface PersonIdentity {
  issuer: string;
  is_bound: boolean;
  made_at_login: boolean;
}

export interface PersonItem {
  name: string;
  role: Role;
  disabled_unix_ns: number | null;
  has_password: boolean;
  link_expires_unix_ns: number | null;
  created_unix_ns: number;
  last_login_unix_ns: number | null;
  sessions: number;
  tokens: number;
  identity?: PersonIdentity;
}

export interface PersonList {
  items: PersonItem[];
  provider?: string;
}

export interface Pivot {
  rows: number;
  groups: number;
  left_out: number;
  columns: PivotColumn[];
  lines: PivotLine[];
  series: PivotSeries | null;
}

export interface PivotColumn {
  name: string;
  type: string;
  display: Display;
  is_rough: boolean;
  without: number;
}

export interface PivotLine {
  cells: ShownCell[];
  condition: string | null;
}

export interface PivotSeries {
  start: number;
  end: number;
  lines: (number | null)[][];
}

export interface PlaceLine {
  place: CodePlace;
  function: string;
  module: string;
  samples: number;
}

export interface PlannedCapture {
  spec: CaptureSpec;
  opens: ViewName;
  cost: string;
  missing?: string;
}

export interface Pressure {
  some_permille: number;
  full_permille: number;
}

export interface PrintedLine {
  time: number;
  stream: number;
  text: string;
  snapshot?: number;
  left_out?: number;
}

export interface PrintedText {
  lines: PrintedLine[];
  next: Cursor | null;
}

export interface Probe {
  name: string;
  line: number;
  attached: number;
  hits: number;
  filtered: number;
  ring_full: number;
  map_full: number;
  helper_failed: number;
  stack_lost: number;
  missed: number;
  nested: number;
  ns_per_hit: number | null;
}

export interface ProbeAnswer {
  ok: boolean;
  probes: ResolvedProbe[];
  messages: ScriptMessage[];
  skipped: Skipped[];
  answers: Answered[];
  notes: string[];
}

export interface ProbeChanges {
  add: DynamicProbe[];
  remove: string[];
  force: boolean;
  dry_run: boolean;
}

export interface ProbeEdited {
  added: NamedProbe[];
  already: string[];
  removed: LibraryEntryItem[];
  dry_run: boolean;
}

export interface ProbeForm {
  comment: string;
  sites: string[];
  condition: string;
  values: RecordedValue[];
  until: Pairing | null;
  kernel_stack: boolean;
  user_stack: boolean;
  action: FormAction;
}

export interface ProbeLimit {
  name: string;
  value: string;
  effect: string;
  remedy: string;
}

export interface ProbeTick {
  name: string;
  line: number;
  hits: number;
  filtered: number;
  lost: number;
  helper_failed: number;
  ns_per_hit: number | null;
}

export interface Process {
  pid: number;
  comm: string;
  command: string;
  user: string;
  age_s: number;
  cpu_ms: number;
  kernel: boolean;
}

export interface ProcessActivity {
  pid: number;
  start_ticks: number;
  comm: string;
  user: string;
  container: string | null;
  state: string;
  threads: number;
  kernel: boolean;
  cpu_permille: number;
  memory_bytes: number;
  faults_per_s: number;
  read_bytes_per_s: number;
  written_bytes_per_s: number;
}

export interface ProcessLife {
  pid: number;
  parent?: number;
  depth: number;
  comm: string;
  former?: string[];
  start?: number;
  end?: number;
  arguments?: string;
  ended?: string;
  user?: string;
  container?: string;
  unit?: string;
  group?: string;
  is_inherited?: boolean;
  running?: number;
  samples?: number;
  threads: number;
  descendants: number;
  filter: string;
  is_shared?: boolean;
}

export interface ProcessTree {
  start: number;
  end: number;
  processes: ProcessLife[];
  more: number;
  has_states: boolean;
  has_ends: boolean;
  has_arguments: boolean;
  has_parents: boolean;
  has_owners: boolean;
}

export interface Processes {
  total: number;
  items: Process[];
}

export interface ProfileSpec {
  frequency_hz: number;
  kernel_stacks: boolean;
  user_stacks: boolean;
  event?: string;
  period?: number;
  call_graph?: CallGraph;
  stack_bytes?: number;
  memory?: boolean;
  branches?: BranchFilter[];
  cpus?: number[];
  filter?: string;
  delay_ms?: number;
  more?: SampledEvent[];
  group?: boolean;
}

export interface QueryResult {
  columns: string[];
  rows: (string | null)[][];
  cut: boolean;
  asked_unix_ns: number;
}

export interface RangeAmount {
  stream: number;
  column: string;
  name: string;
  tid?: number;
  pid?: number;
  filter: string;
  count: number;
  bytes: number;
  mean: number;
  most: number;
  at: number;
}

export interface RangeAmounts {
  start: number;
  end: number;
  names: RangeAmount[];
  names_rest: RangeRest;
  threads: RangeAmount[];
  threads_rest: RangeRest;
}

export interface RangeCounter {
  stream: number;
  name: string;
  unit: string;
  is_gauge: boolean;
  count: number;
  least: number;
  mean: number;
  most: number;
  first: number;
  last: number;
  change: number;
}

export interface RangeCounters {
  start: number;
  end: number;
  counters: RangeCounter[];
  rest: RangeRest;
}

export interface RangeDurations {
  count: number;
  without: number;
  time: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  longest: number;
  at: number;
  buckets: [number, number][];
}

export interface RangeRest {
  lines: number;
  rows: number;
  sum: number;
  has_further: boolean;
}

export interface RangeSlice {
  stream: number;
  name: string;
  filter: string;
  key: string;
  own: number;
  durations: RangeDurations;
}

export interface RangeSlices {
  start: number;
  end: number;
  streams: SlicedStream[];
  slices: RangeSlice[];
  rest: RangeRest;
}

export interface RangeState {
  state: number;
  count: number;
  time: number;
  longest: number;
  at: number;
}

export interface RangeThread {
  stream: number;
  key: string;
  name: string;
  pid: number;
  states: RangeState[];
}

export interface RangeThreads {
  start: number;
  end: number;
  states: string[];
  threads: RangeThread[];
  rest: RangeRest;
}

export interface RangeWait {
  stream: number;
  key: string;
  name: string;
  pid: number;
  durations: RangeDurations;
  wakers: RangeWaker[];
  by_others: number;
}

export interface RangeWaits {
  start: number;
  end: number;
  all: RangeDurations;
  threads: RangeWait[];
  rest: RangeRest;
}

export interface RangeWaker {
  tid: number;
  name: string;
  count: number;
}

export interface RangeWakeups {
  start: number;
  end: number;
  total: number;
  wakers: WakeThread[];
  more_wakers: number;
  wakees: WakeThread[];
  more_wakees: number;
  counts: [number, number, number][];
  uncounted: number;
}

export interface Rate {
  start: number;
  end: number;
  bins: number;
  streams: StreamRate[];
  losses: RateLoss[];
}

export interface RateLoss {
  stream: number | null;
  stage: LossStage;
  count: number;
  start: number;
  end: number;
}

export interface ReadForms {
  forms: ProbeForm[];
  messages: ScriptMessage[];
}

export interface ReadShare {
  title: string;
  owner: string;
  expires_unix_ns: number;
  part: SharedPart | null;
  removes: RemovedKind[];
  notes: boolean;
  results: boolean;
  views: boolean;
}

export interface Reading {
  time_ns: number;
  hits_per_s: number;
  ns_per_hit: number | null;
  cpu_permille: number | null;
  lost: number;
  recorded_until_ns?: number;
}

export type ReadingPriority = "usual" | "high";

export interface RecipeItem {
  name: string;
  order: number;
  question: string;
  about: string;
  needs: string;
  cost: string;
  of: RecipeTarget;
  opens: RecipeView | null;
  limits: Limits;
  sources: SourceSpec[];
  key_numbers?: RecipeKey[];
  owner: string | null;
  created_unix_ns: number | null;
  can_delete: boolean;
}

export interface RecipeKey {
  key: string;
  good?: GoodWay;
}

export type RecipeTarget = "process" | "command" | "system";

export type RecipeView = "events" | "timeline" | "flame" | "counts";

export interface Recipes {
  items: RecipeItem[];
}

export interface RecordedValue {
  expr: string;
  name: string;
  format: ValueFormat;
  late: boolean;
}

export interface RefusedText {
  start: number;
  end: number;
  why: string;
  remedy: string;
}

export type RemovedKind = "arguments" | "paths" | "names" | "addresses";

export interface ResolvedProbe {
  typed: string;
  start: number;
  name: string;
  line: string;
  place: string;
  returns: boolean;
  arguments: WireArgument[];
  notes: string[];
}

export interface ResultColumn {
  name: string;
  type: ColumnKind;
  display: Display;
}

export interface Retention {
  keep_days: number | null;
  keep_bytes: number | null;
  keep_for: string[];
  captures_bytes: number;
  pinned_bytes: number;
  database_bytes: number;
  free_bytes: number;
  reserve_bytes: number;
}

export interface RetentionForecast {
  retention: Retention;
  total: number;
  items: ForecastItem[];
}

export type RightHolder = "everybody" | {
  person: string;
  group?: undefined;
  proxy_group?: undefined;
  oidc_group?: undefined;
} | {
  group: string;
  person?: undefined;
  proxy_group?: undefined;
  oidc_group?: undefined;
} | {
  proxy_group: string;
  person?: undefined;
  group?: undefined;
  oidc_group?: undefined;
} | {
  oidc_group: string;
  person?: undefined;
  group?: undefined;
  proxy_group?: undefined;
};

export interface RightsPage {
  tags: TagRights[];
  groups: GroupItem[];
  people: string[];
  elsewhere: GroupsElsewhere;
}

export type Role = "viewer" | "operator" | "admin";

export interface RowFields {
  columns: ColumnHead[];
  cells: ShownCell[];
}

export interface RowStack {
  column: string;
  functions: string[];
}

export interface RowTimes {
  matched: number;
  times: number[];
}

export interface RowsPage {
  columns: ColumnHead[];
  rows: ShownCell[][];
  numbers?: number[];
  texts?: (string | null)[];
  total: number;
  matched: number;
  offset: number;
}

export interface RunItem {
  id: CaptureId;
  title: string;
  state: CaptureState;
  owner: string;
  started_unix_ns: number;
  duration_ns: number;
  rows: number;
  lost: number;
  lost_at_least: boolean;
  again_of: CaptureId | null;
  computed: boolean;
  problem: string;
  numbers: (RunNumber | null)[];
}

export interface RunNumber {
  value: number;
  error: number | null;
  least: number | null;
  most: number | null;
  name: string;
  verdict: BaselineVerdict | null;
}

export interface RunningCapture {
  id: CaptureId;
  title: string;
  owner: string;
  state: string;
  rows_per_s: number;
  lost: number;
  cpu_permille: number | null;
  flight?: FlightStatus;
}

export interface SameCommand {
  text: string;
  differs: string[];
}

export interface SameCommands {
  items: SameCommand[];
}

export interface SampleList {
  items: Item[];
}

export interface SampledEvent {
  event: string;
  period?: number;
}

export interface SampledFunction {
  name: string;
  kind: NodeKind;
  own: number;
  total: number;
}

export interface SampledFunctions {
  unit: string;
  left_out: LeftOutRows;
  samples: number;
  total: number;
  functions: SampledFunction[];
}

export interface Sandwich {
  function: string;
  own: number;
  total: number;
  callers: FlameGraph;
  callees: FlameGraph;
}

export interface Scanned {
  rows: number;
  chunks: number;
  skipped: number;
}

export interface Scatter {
  column: string;
  display: Display;
  unit: Unit;
  start: number;
  end: number;
  times: number[];
  values: ShownCell[];
  rows: number[];
  total: number;
  shown: number;
  most: number;
  without: number;
  below: number;
  above: number;
}

export interface Script {
  text: string;
  file: string;
  params: string[];
  allow_unsafe: boolean;
  exit_code: number | null;
  probes: Probe[];
}

export interface ScriptMessage {
  severity: string;
  message: string;
  hint: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  start: number;
  end: number;
  detail?: string;
}

export interface ScriptSpec {
  text: string;
  file?: string;
  params?: string[];
  allow_unsafe?: boolean;
}

export interface Scripts {
  may_run: boolean;
  allow_unsafe: boolean;
  why: string;
}

export type SeriesId = string;

export interface SeriesItem {
  id: SeriesId;
  title: string;
  host: string;
  runs: number;
  first_unix_ns: number;
  last_unix_ns: number;
  last: CaptureId;
  baseline: CaptureId | null;
}

export interface SeriesKey {
  key: string;
  what: KeyWhat;
  stream: string;
  column: string;
  name: string;
  display: Display;
  unit: Unit;
  good: GoodWay | null;
  chosen: boolean;
}

export interface SeriesLine {
  id: KeyId;
  key: ShownCell[];
  values: ShownCell[];
}

export interface SeriesList {
  items: SeriesItem[];
}

export interface SeriesPage {
  id: SeriesId;
  title: string;
  host: string;
  baseline: CaptureId | null;
  keys: SeriesKey[];
  left_out: number;
  runs: RunItem[];
  marks: MarkItem[];
  can_change: boolean;
}

export interface SeriesView {
  at: At[];
  lines: SeriesLine[];
  more_keys: number;
  unit: Unit;
}

export type ShareId = string;

export interface ShareItem {
  id: ShareId;
  capture: CaptureId | null;
  investigation: InvestigationId | null;
  title: string;
  owner: string;
  created_unix_ns: number;
  expires_unix_ns: number;
  last_used_unix_ns: number | null;
  opened: number;
  part: SharedPart | null;
  removes: RemovedKind[];
  notes: boolean;
  results: boolean;
  preview: boolean;
  views: boolean;
}

export interface ShareList {
  allowed: boolean;
  can_allow: boolean;
  items: ShareItem[];
}

export interface SharedPart {
  start: number | null;
  end: number | null;
  filter: string;
}

export interface Shown {
  id: string;
  user: string;
  role: Role;
  age_s: number;
  unused_s: number;
  ends_in_s: number;
  current: boolean;
}

export type ShownCell = null | number | string | {
  id: number;
  top: string;
  depth: number;
};

export interface ShownCode {
  place: CodePlace;
  samples: number;
  length: number;
  kept: number;
  note: string;
  rows: CodeRow[];
  hottest: number[];
  sources: SourceLine[];
  outside: number;
}

export interface ShownTrack {
  id: string;
  pieces: number;
}

export interface SiteFacts {
  partners: Partner[];
  count: number | null;
  left_out: LeftOutSite[];
  left_out_count: number;
  why_not: string;
  nearest: string[];
  prototype: string;
}

export interface Skipped {
  text: string;
  why: string;
}

export interface SlicedStream {
  stream: number;
  column: string;
  duration: string;
  is_end: boolean;
}

export interface SourceEnd {
  state: SourceState;
  reason: string;
}

export interface SourceLine {
  function: string;
  file: string;
  line: number;
}

export interface SourceSpec {
  id: string;
  method: Method;
  required?: boolean;
}

export type SourceState = "ended" | "thinned" | "detached" | "failed";

export interface Span {
  start: number;
  end: number;
  kind: SpanKind;
}

export type SpanKind = "tool" | "option" | "value" | "event" | "target" | "script" | "ignored" | "refused" | "shell" | "comment";

export interface SpecLine {
  part: string;
  what: string;
  a: string | null;
  b: string | null;
  same: boolean;
}

export interface Stack {
  frames: StackFrame[];
}

export interface StackBoxes {
  start: number[];
  duration: number[];
  level: number[];
  name: number[];
  kind: number[];
  samples: number[];
  more: number[];
}

export interface StackChart {
  start: number;
  end: number;
  width: number;
  by: Lanes;
  unit: string;
  period: number;
  step: number;
  grid: number;
  lanes: StackLane[];
  names: string[];
  modules: string[];
  found: boolean[];
  more_lanes: number;
  hidden: number;
  transforms: AppliedTransform[];
  recorded: number;
}

export interface StackFrame {
  name: string;
  kind: NodeKind;
  module: string;
}

export interface StackLane {
  key: string;
  label: string;
  sub: string;
  samples: number;
  levels: number;
  boxes: StackBoxes;
}

export interface StatesSpec {
  sleep_stacks?: boolean;
  wake_stacks?: boolean;
}

export interface Stopped {
  stopped: boolean;
}

export interface StoredView {
  file?: string;
  view: ViewName;
  filters?: string[];
  search?: string;
  terminal?: string[];
}

export interface Stream {
  index: number;
  name: string;
  kind: StreamKind;
  row: string;
  source: string;
  rule: string;
  columns: ColumnHead[];
  rows: number;
}

export type StreamKind = "events" | "samples" | "map";

export interface StreamRate {
  stream: number;
  name: string;
  counts: number[];
}

export interface StreamTick {
  name: string;
  hits_per_s: number;
  rows_per_s: number;
  stored: number;
  emitted: number;
  filtered: number;
  lost: number;
  ns_per_hit: number | null;
  cpu_permille: number | null;
}

export interface StreamTotals {
  hits: number;
  filtered: number;
  emitted: number;
  stored: number;
}

export interface SyscallData {
  read: Descriptors;
  write: Descriptors;
}

export interface SyscallError {
  name: string;
  count: number;
}

export interface SyscallLine {
  call: string;
  comm: string;
  pid?: number;
  tid?: number;
  filter: string;
  errors: SyscallError[];
  other_errors: number;
  count: number;
  without: number;
  time: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  longest: number;
  at: number;
  buckets: [number, number][];
  shortest: number;
  failed: number;
  unfinished: number;
  bytes: number;
  running: number;
  waiting: number;
  unsplit: number;
}

export interface SyscallLook {
  hex: HexTexts;
  verbose: boolean;
  sockets: boolean;
  raw: string[];
  abbreviated?: string[];
  structures?: string[];
  devices?: boolean;
  processes?: boolean;
  no_paths?: boolean;
}

export interface SyscallObject {
  kind: string;
  name: string;
  filter: string;
  count: number;
  without: number;
  time: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  longest: number;
  at: number;
  buckets: [number, number][];
  shortest: number;
  failed: number;
  unfinished: number;
  bytes: number;
  running: number;
  waiting: number;
  unsplit: number;
}

export type SyscallOutcome = "any" | "failed" | "succeeded";

export interface SyscallSpec {
  calls: string[];
  outcome: SyscallOutcome;
  min_duration_ns: number;
  path?: string;
  string_bytes: number;
  fd_paths: boolean;
  signals: boolean;
  filter?: string;
  below?: Below;
  look?: SyscallLook;
  cpu_time?: boolean;
  addresses?: boolean;
  stacks?: boolean;
  numbers?: boolean;
  data?: SyscallData;
}

export interface SyscallTable {
  start: number;
  end: number;
  all: SyscallTimes;
  has_states: boolean;
  has_too_many_states: boolean;
  lines: SyscallLine[];
  rest: RangeRest;
  files: SyscallObject[];
  files_rest: RangeRest;
}

export interface SyscallTimes {
  count: number;
  without: number;
  time: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  longest: number;
  at: number;
  buckets: [number, number][];
  shortest: number;
  failed: number;
  unfinished: number;
  bytes: number;
  running: number;
  waiting: number;
  unsplit: number;
}

export interface TableInfo {
  name: string;
  alias?: string;
  about: string;
  rows: number;
  columns: ColumnInfo[];
}

export interface Tables {
  tables: TableInfo[];
  examples: ExamplesExample[];
}

export interface TagItem {
  tag: string;
  captures: number;
}

export interface TagList {
  items: TagItem[];
}

export interface TagRights {
  tag: string;
  list: GivenRight[];
}

export type Target = "system" | {
  process: {
    pid: number;
    children: boolean;
  };
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  processes: {
    pids: number[];
    children: boolean;
  };
  process?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  threads: {
    tids: number[];
    children: boolean;
  };
  process?: undefined;
  processes?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  command: {
    argv: string[];
    user?: string;
    children: boolean;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  during: {
    argv: string[];
    user?: string;
    of: Target;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  cgroup: {
    path: string;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  unit: {
    name: string;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  container?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  container: {
    name: string;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  user?: undefined;
  comm?: undefined;
} | {
  user: {
    user: string;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  comm?: undefined;
} | {
  comm: {
    pattern: string;
  };
  process?: undefined;
  processes?: undefined;
  threads?: undefined;
  command?: undefined;
  during?: undefined;
  cgroup?: undefined;
  unit?: undefined;
  container?: undefined;
  user?: undefined;
};

export interface ThreadCall {
  name: string;
  args: string;
  track: string;
  start: number;
}

export interface Tick {
  elapsed: number;
  streams: StreamTick[];
  probes?: ProbeTick[];
  maps?: MapTick[];
  console_cpu_permille: number;
  agent_cpu_permille: number;
  console_peak_bytes: number;
  agent_peak_bytes: number;
  bytes: number;
  guard?: string;
  flight?: FlightStatus;
}

export interface Timeline {
  start: number;
  end: number;
  width: number;
  group: TimelineGroup;
  tracks: Track[];
  names: string[];
  more_tracks: number;
  has_longest: boolean;
  has_values: boolean;
}

export type TimelineGroup = "cpu" | "thread" | "counter" | "stream";

export interface TokenList {
  items: ApiTokenItem[];
}

export type ToldBlock = {
  kind: "text";
  text: string;
  body: MarkdownNode[];
} | {
  kind: "task";
  text: string;
  body: MarkdownNode[];
  done: boolean;
} | {
  kind: "view";
  capture: CaptureId;
  title: string | null;
  view: string;
  caption: string;
} | {
  kind: "comparison";
  capture: CaptureId;
  title: string | null;
  view: string;
  caption: string;
} | {
  kind: "note";
  capture: CaptureId;
  title: string | null;
  id: NoteId;
  note: NoteItem | null;
  answers: NoteItem[];
} | {
  kind: "query";
  capture: CaptureId;
  title: string | null;
  sql: string;
  caption: string;
  result: QueryResult;
} | {
  kind: "step";
  text: string;
  body: MarkdownNode[];
  recipe: string;
  capture: CaptureId | null;
  title: string | null;
  view: string;
} | {
  kind: "left_out";
  what: string;
} | {
  kind: "unknown";
};

export interface Tool {
  name: string;
  title: string;
  group: string;
  purpose: string;
  parameters: Parameter[];
  view: string;
  needs: string[];
  since: string | null;
  usual: string | null;
  text?: string;
  example?: string;
}

export interface Tools {
  items: Tool[];
}

export interface TraceEvent {
  event: TracepointName;
  filter?: string;
}

export interface TraceSpec {
  tracer?: string;
  functions?: string[];
  not_functions?: string[];
  graph_roots?: string[];
  graph_not?: string[];
  max_depth?: number;
  events?: TraceEvent[];
  dynamic?: DynamicProbe[];
  options?: [string, boolean][];
  clock?: string;
  buffer_kib?: number;
  overwrite?: boolean;
}

export type TracepointName = string;

export interface Track {
  key: string;
  label: string;
  sub: string;
  rows: number;
  pid: number | null;
  tid: number | null;
  cpu: number | null;
  is_clock?: boolean;
  is_gauge?: boolean;
  unit?: string;
}

export interface TrackFlow {
  way: FlowWay;
  kind: FlowKind;
  time: number;
  pid: number;
  tid: number;
  name: string;
  track: string | null;
  cpu: number | null;
  latency: number | null;
  stack: string[];
}

export interface TrackFlows {
  flows: TrackFlow[];
  more: number;
  is_cut: boolean;
  call: ThreadCall | null;
}

export interface TrackLabel {
  text: string;
  pid?: number;
  tid?: number;
}

export interface TrackLine {
  id: string;
  stream: number;
  key: string;
  label: string;
  pid: number | null;
  tid: number | null;
  cpu: number | null;
  lane: number;
  rows: number;
  start: number;
  end: number;
  busy: number;
  longest: number;
  top: NameTime[];
}

export interface TrackList {
  start: number;
  end: number;
  streams: TrackStream[];
  tracks: TrackLine[];
  names: TrackLabel[];
  left_out: number;
  binned: BinnedList;
}

export interface TrackMoment {
  before: TrackRowLine | null;
  at: TrackRowLine | null;
  after: TrackRowLine | null;
  fields: RowFields | null;
  stacks: RowStack[];
  flows: TrackFlows;
  before_same: TrackRowLine | null;
  after_same: TrackRowLine | null;
  same_cut: boolean;
  name_column: string | null;
  is_cut: boolean;
}

export type TrackOf = "thread" | "cpu" | "value";

export interface TrackRowLine {
  stream: number;
  number: number;
  start: number;
  end: number;
  duration: number;
  name: TrackLabel;
}

export interface TrackStream {
  stream: number;
  name: string;
  row: TrackedRow;
  of: TrackOf;
  column: string;
}

export interface TrackWindow {
  start: number;
  end: number;
  unit: number;
  tracks: ShownTrack[];
  names: TrackLabel[];
}

export type TrackedRow = "state" | "slice";

export type Tree = CallPage | {
  places: CallPlace[];
} | FoundCall;

export interface Trial {
  output: PrintedText;
  tables: MapTable[];
  bytes: TrialBytes[];
  probes: Probe[];
  duration_ns: number;
  lost: number;
  reason: string;
}

export interface TrialBytes {
  statement: number;
  value: number;
  name: string;
  rows: TrialBytesRow[];
}

export interface TrialBytesRow {
  time: number;
  pid: number;
  hex: string;
}

export type Unit = "hits" | "samples" | "nanoseconds" | "microseconds" | "milliseconds" | "seconds" | "bytes" | "values";

export interface Unsearched {
  captures: number;
  texts: number;
  cut: number;
}

export interface Untold {
  count: number;
  words: string;
  proves_loss: boolean;
}

export interface UserActivity {
  user: string;
  processes: number;
  cpu_permille: number;
  memory_bytes: number;
  faults_per_s: number;
  read_bytes_per_s: number;
  written_bytes_per_s: number;
}

export interface Users {
  items: string[];
}

export interface Utilisation {
  start: number;
  end: number;
  step: number;
  columns: number;
  keys: UtilisedKey[];
  busy: HeatCells;
  known: HeatCells;
  tells_idle: boolean;
  left_out: number;
}

export interface UtilisedKey {
  key: string;
  filter: string;
  busy: number;
  known: number;
  rows: number;
}

export type ValueFormat = "plain" | "decimal" | "hex" | "octal" | "text" | {
  bytes: number;
  names?: undefined;
} | "ip" | "mac" | "kernel_symbol" | "user_symbol" | "path" | "user_name" | "signal_name" | "syscall_name" | "error_name" | {
  names: NameSet;
  bytes?: undefined;
};

export interface ValueRange {
  least: number;
  most: number;
}

export interface Variables {
  function: string;
  variables: WireVariable[];
  notes: string[];
}

export type ViewName = "events" | "timeline" | "flame" | "functions" | "instructions" | "counts" | "calls" | "systemcalls" | "maps" | "output";

export interface WakeThread {
  tid: number;
  pid: number;
  name: string;
  count: number;
}

export interface WebhookItem {
  name: string;
  url: string;
  problem?: string;
  made_by: string;
  created_unix_ns: number;
  delivered: number;
  given_up: number;
}

export interface WebhookList {
  problem?: string;
  items: WebhookItem[];
  deliveries: DeliveryItem[];
}

export interface WebhookNames {
  names: string[];
}

export interface Wire {
  error: WireError;
}

export interface WireAction {
  label: string;
  path: string;
  params: [string, string][];
}

export interface WireArgument {
  name: string | null;
  text: string;
}

export interface WireCode {
  title: string;
  language: string;
  text: string;
}

export interface WireCount {
  total: number;
  usable: number;
}

export interface WireEntry {
  kind: string;
  title: string;
  name: string;
  shown?: string;
  raw?: string;
  in?: string;
  facts: WireFact[];
  means: WireMeans[];
  code: WireCode[];
  actions: WireAction[];
  fields: DescribedField[];
}

export interface WireError {
  kind: string;
  doing: string;
  why: string;
  remedy: string;
  request_id: string;
  diagnostics?: ScriptMessage[];
}

export interface WireFact {
  label: string;
  value: string;
}

export interface WireItem {
  kind: string;
  name: string;
  shown?: string;
  raw?: string;
  in?: string;
  note: string;
  works: boolean;
}

export interface WireKind {
  kind: string;
  title: string;
  count: number | null;
  state: string;
  age_ms: number | null;
  error: string | null;
  hidden: Hidden[];
}

export interface WireMeans {
  id: string;
  purpose: string;
  works: boolean;
  why_not: string | null;
}

export interface WireVariable {
  name: string;
  type: string;
  declaration: string;
  argument: string | null;
  pointer: boolean;
  members: string[];
}

export interface WrittenNow {
  notes: CaptureId[];
  investigations: InvestigationId[];
  missed: boolean;
}

export interface WrittenScript {
  script: string | null;
  why: string;
  form: number | null;
}

/** What is answered instead where a request failed. */
export type Failure = Wire;

/** The head of the binary timeline. */
export type TimelineHead = Timeline;

/** The head of a window of tracks. */
export type TrackWindowHead = TrackWindow;

/** JSON by method and route; null where there is nothing in the answer. */
export interface Answers {
  DELETE: {
    "/api/captures/{id}": CaptureDeleted;
    "/api/deleted/{id}": null;
    "/api/captures/{id}/fire-token": null;
    "/api/captures/{id}/computed/{number}": null;
    "/api/recipes/{name}": null;
    "/api/access/sessions/{id}": null;
    "/api/access/links/{id}": null;
    "/api/library/{id}": null;
    "/api/shares/{share}": null;
    "/api/captures/{id}/notes/{note}": null;
    "/api/investigations/{id}": null;
    "/api/investigations/{id}/blocks/{block}": null;
    "/api/people/{name}": null;
    "/api/tokens/{token}": null;
    "/api/own/sessions/{id}": null;
    "/api/own/tokens/{token}": null;
    "/api/rights/groups/{name}": null;
    "/api/webhooks/{name}": null;
    "/api/marks/{mark}": null;
  };
  GET: {
    "/api/host": DescribedHost;
    "/api/tracepoints": FoundTracepoint;
    "/api/tracepoints/{system}/{name}": DescribedTracepoint;
    "/api/perf_events": PerfEvents;
    "/api/catalog": FoundProbes;
    "/api/catalog/kinds": Kinds;
    "/api/catalog/entry": WireEntry;
    "/api/catalog/count": WireCount;
    "/api/predicate": CheckedPredicate;
    "/api/syscalls/filter": AskedCalls;
    "/api/processes": Processes;
    "/api/processes/{pid}/files": OpenFiles;
    "/api/users": Users;
    "/api/groups": Groups;
    "/api/dynamic": Events;
    "/api/dynamic/variables": Variables;
    "/api/dynamic/functions": Functions;
    "/api/captures": CaptureList;
    "/api/tags": TagList;
    "/api/captures/{id}": CapturePage;
    "/api/retention": RetentionForecast;
    "/api/deleted": DeletedList;
    "/api/captures/{id}/output": Output;
    "/api/captures/{id}/rows": RowsPage;
    "/api/captures/{id}/rows/times": RowTimes;
    "/api/captures/{id}/facets": Facets;
    "/api/captures/{id}/pivot": Pivot;
    "/api/captures/{id}/pivot/compare": AgainstTable;
    "/api/captures/{id}/rate": Rate;
    "/api/captures/{id}/find": FoundRows;
    "/api/captures/{id}/find/step": FoundStep;
    "/api/captures/{id}/counts": CountView;
    "/api/captures/{id}/script": Script;
    "/api/captures/{id}/maps": Maps;
    "/api/captures/{id}/maps/{n}": HistogramView | HeatView | SeriesView | MapTable | FlameGraph;
    "/api/captures/{id}/maps/{n}/compare": AgainstTable;
    "/api/captures/{id}/text": PrintedText;
    "/api/captures/{id}/query": Tables;
    "/api/commands": Commands;
    "/api/scripts": Scripts;
    "/api/recipes": Recipes;
    "/api/tools": Tools;
    "/api/tools/{name}": Tool;
    "/api/language": Language;
    "/api/samples": SampleList;
    "/api/access": Listed;
    "/api/audit": Entries;
    "/api/captures/{id}/calls": Tree;
    "/api/captures/{id}/calls/functions": FunctionsPage;
    "/api/captures/{id}/calls/chart": CallChart;
    "/api/captures/{id}/flame": FlameGraph;
    "/api/captures/{id}/flame/functions": SampledFunctions;
    "/api/captures/{id}/flame/sandwich": Sandwich;
    "/api/captures/{id}/flame/chart": StackChart;
    "/api/captures/{id}/flame/compare": FlameDifference;
    "/api/captures/{id}/syscalls": SyscallTable;
    "/api/captures/{id}/syscalls/compare": AgainstTable;
    "/api/captures/{id}/calls/compare": AgainstTable;
    "/api/captures/{id}/processes": ProcessTree;
    "/api/captures/{id}/flame/annotate": Annotation;
    "/api/captures/{id}/stacks/{stack}": Stack;
    "/api/captures/{id}/tracks": TrackList;
    "/api/captures/{id}/tracks/moment": TrackMoment;
    "/api/captures/{id}/tracks/instant": TrackMoment;
    "/api/captures/{id}/tracks/critical-path": CriticalPath;
    "/api/captures/{id}/range/threads": RangeThreads;
    "/api/captures/{id}/range/slices": RangeSlices;
    "/api/captures/{id}/range/waits": RangeWaits;
    "/api/captures/{id}/range/counters": RangeCounters;
    "/api/captures/{id}/range/wakeups": RangeWakeups;
    "/api/captures/{id}/range/amounts": RangeAmounts;
    "/api/captures/{id}/distribution": Distribution;
    "/api/captures/{id}/distribution/heat": HeatMap;
    "/api/captures/{id}/distribution/utilisation": Utilisation;
    "/api/captures/{id}/distribution/scatter": Scatter;
    "/api/captures/{id}/distribution/heat/compare": HeatPair;
    "/api/library": LibraryList;
    "/api/library/{id}": LibraryThing;
    "/api/builder/find": FoundSites;
    "/api/builder/site": SiteFacts;
    "/api/builder/arguments": ArgumentList;
    "/api/shares": ShareList;
    "/api/captures/{id}/notes": NoteList;
    "/api/captures/{id}/notes/{note}/versions": NoteVersionList;
    "/api/investigations": InvestigationList;
    "/api/investigations/{id}": InvestigationAnswer;
    "/api/people": PersonList;
    "/api/tokens": TokenList;
    "/api/own": OwnAccess;
    "/api/captures/{id}/rights": CaptureRights;
    "/api/rights": RightsPage;
    "/api/webhooks": WebhookList;
    "/api/webhooks/names": WebhookNames;
    "/api/compare": ComparedCaptures;
    "/api/series": SeriesList;
    "/api/series/{series}": SeriesPage;
    "/api/marks": MarkList;
  };
  PATCH: {
    "/api/captures/{id}": null;
    "/api/library/{id}": LibraryThing;
    "/api/captures/{id}/notes/{note}": NoteItem;
    "/api/investigations/{id}": InvestigationAnswer;
    "/api/investigations/{id}/blocks/{block}": InvestigationAnswer;
    "/api/people/{name}": PersonItem;
    "/api/series/{series}": SeriesPage;
  };
  POST: {
    "/api/host/check": DescribedHost;
    "/api/catalog/refresh": Kinds;
    "/api/dynamic/check": ProbeAnswer;
    "/api/host/kprobes": null;
    "/api/captures": CaptureAddress;
    "/api/captures/import": ImportAnswer;
    "/api/deleted/{id}/restore": null;
    "/api/captures/{id}/stop": Stopped;
    "/api/captures/{id}/fire": CaptureAddress;
    "/api/captures/{id}/fire-token": MadeToken;
    "/api/fire/{id}": CaptureAddress;
    "/api/captures/{id}/probes/detach": Detached;
    "/api/captures/{id}/computed": null;
    "/api/captures/{id}/query": Answer;
    "/api/commands/explain": ExplainedText;
    "/api/commands/same": SameCommands;
    "/api/commands/complete": CompletedCommand;
    "/api/scripts/check": CheckedScript;
    "/api/scripts/compile": Listing;
    "/api/scripts/complete": Completions;
    "/api/scripts/hover": Hovered;
    "/api/recipes": RecipeItem;
    "/api/samples/{name}": CaptureAddress;
    "/api/library": LibraryThing;
    "/api/library/import": LibraryThing;
    "/api/library/probes": ProbeEdited;
    "/api/library/{id}/undelete": LibraryThing;
    "/api/builder/write": WrittenScript;
    "/api/builder/read": ReadForms;
    "/api/builder/try": Trial;
    "/api/shares": MadeShare;
    "/api/shares/allowed": null;
    "/api/captures/{id}/notes": NoteItem;
    "/api/captures/{id}/notes/{note}/resolved": NoteItem;
    "/api/investigations": MadeId;
    "/api/investigations/{id}/restore": null;
    "/api/investigations/{id}/blocks": MadeId;
    "/api/investigations/{id}/blocks/{block}/move": null;
    "/api/investigations/{id}/blocks/{block}/restore": null;
    "/api/people": MadeInvitation;
    "/api/people/{name}/reset": MadeInvitation;
    "/api/own/password": null;
    "/api/own/tokens": MadeApiToken;
    "/api/password": ChosenFor;
    "/api/webhooks": MadeWebhook;
    "/api/webhooks/{name}/test": DeliveryItem;
    "/api/marks": MarkItem;
  };
  PUT: {
    "/api/captures/{id}/rights": CaptureRights;
    "/api/rights/tags/{tag}": RightsPage;
    "/api/rights/groups/{name}": RightsPage;
  };
}

/** Routes that answer bytes or text. */
export type ByteRoute = "/api/openapi.json" | "/api/captures/{id}/timeline" | "/api/captures/{id}/export" | "/api/captures/{id}/file" | "/api/captures/{id}/calls/text" | "/api/captures/{id}/tracks/window" | "/api/library/{id}/file" | "/api/investigations/{id}/blocks/{block}/picture" | "/api/investigations/{id}/file";

/** Streams: what comes with each event. */
export interface Streams {
  "/api/busy": {
    activity: Activity;
    absent: {
      why: string;
    };
  };
  "/api/captures/{id}/live": {
    state: {
      state: CaptureState;
      message: string;
    };
    rows: {
      stream: number;
      rows: ShownCell[][];
      not_shown: number;
    };
    map: {
      stream: number;
      rows: ShownCell[][];
      not_shown: number;
    };
    tick: Tick;
    lagged: {
      missed: number;
    };
    ended: {
      state: CaptureState;
      reason: string;
    };
  };
  "/api/live": {
    running: {
      items: RunningCapture[];
    };
    written: WrittenNow;
  };
}
