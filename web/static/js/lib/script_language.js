// The probe language as the editor colours it. Pure: a stream of characters in, names of styles out.
//
// It knows the shape of words, not their meaning; what is wrong with a script is the server's to say.

const KEYWORDS = new Set([
  "break",
  "comptime",
  "config",
  "continue",
  "else",
  "for",
  "if",
  "import",
  "in",
  "let",
  "macro",
  "offsetof",
  "return",
  "sizeof",
  "struct",
  "union",
  "enum",
  "typedef",
  "typeof",
  "unroll",
  "while",
  "true",
  "false",
]);
const PROVIDERS = new Set([
  "begin",
  "BEGIN",
  "end",
  "END",
  "tracepoint",
  "t",
  "rawtracepoint",
  "rt",
  "kprobe",
  "k",
  "kretprobe",
  "kr",
  "fentry",
  "fexit",
  "kfunc",
  "kretfunc",
  "f",
  "fr",
  "uprobe",
  "u",
  "uretprobe",
  "ur",
  "usdt",
  "U",
  "profile",
  "p",
  "interval",
  "i",
  "software",
  "s",
  "hardware",
  "h",
  "watchpoint",
  "w",
  "iter",
  "it",
  "self",
  "test",
  "bench",
]);
const BUILTINS = new Set([
  "args",
  "cgroup",
  "comm",
  "cpid",
  "cpu",
  "ctx",
  "curtask",
  "elapsed",
  "func",
  "gid",
  "jiffies",
  "kstack",
  "ncpus",
  "nsecs",
  "numaid",
  "pcomm",
  "pid",
  "ppid",
  "probe",
  "probetype",
  "rand",
  "retval",
  "tid",
  "uid",
  "usermode",
  "username",
  "ustack",
  "leader_comm",
  "leader_tid",
  "has_cpid",
]);
const TYPES =
  /^(?:bool|u?int(?:8|16|32|64)|u(?:8|16|32|64)|s(?:8|16|32|64)|string|buffer|inet|void|char|short|int|long|unsigned|signed|\w+_t)$/;
const NUMBER = /^(?:0[xX][0-9a-fA-F_]+|\d[\d_]*(?:e\d+)?)(?:ns|us|ms|[smhd]|[uUlL]+)?\b/;

/** @returns {State} */
/** @typedef {{comment: boolean, depth: number, points: boolean}} State where in a script a line begins */

/**
 * @typedef {object} CharacterStream a line
 * @property {string} string
 * @property {number} pos
 * @property {() => string|undefined|null|void} next
 * @property {() => string|undefined|null|void} peek
 * @property {() => boolean} eatSpace
 * @property {(what: string|RegExp) => RegExpMatchArray|string[]|boolean|null} match what it found
 * @property {() => void} skipToEnd
 */

/** What a new document starts with: between probes, not in a comment. */
export function startState() {
  return { comment: false, depth: 0, points: true };
}

/**
 * An independent copy, as the editor keeps one for each line.
 * @param {State} state
 * @returns {State}
 */
export function copyState(state) {
  return { ...state };
}

/** @param {CharacterStream} stream */
function string(stream) {
  stream.next();
  let c;
  while ((c = stream.next()) !== undefined && c !== null && c !== '"') if (c === "\\") stream.next();
  return "string";
}

/**
 * @param {CharacterStream} stream
 * @param {State} state
 */
function comment(stream, state) {
  state.comment = !stream.match(/^.*?\*\//);
  if (state.comment) stream.skipToEnd();
  return "comment";
}

/**
 * @param {CharacterStream} stream
 * @param {State} state
 * @param {string} text
 */
function word(stream, state, text) {
  if (KEYWORDS.has(text)) return "keyword";
  if (state.depth === 0 && state.points) {
    // Only the first word of an attach point is its provider; the rest of it are names.
    const first = stream.string[stream.pos - text.length - 1] !== ":";
    if (
      first &&
      PROVIDERS.has(text) &&
      (/^\s*[:{/,]/.test(stream.string.slice(stream.pos)) || stream.pos === stream.string.length)
    )
      return "provider";
    return "name";
  }
  if (/^\s*\(/.test(stream.string.slice(stream.pos)) && !BUILTINS.has(text)) return "function";
  if (BUILTINS.has(text) || /^s?arg\d$/.test(text)) return "builtin";
  return TYPES.test(text) ? "type" : "name";
}

/**
 * @param {CharacterStream} stream
 * @param {State} state
 */
function punctuation(stream, state) {
  const c = stream.next() ?? "";
  if (c === "{") {
    state.depth += 1;
    state.points = false;
    return "bracket";
  }
  if (c === "}") {
    state.depth = Math.max(0, state.depth - 1);
    if (state.depth === 0) state.points = true;
    return "bracket";
  }
  return "()[]".includes(c) ? "bracket" : "operator";
}

/**
 * Reads one token.
 * @param {CharacterStream} stream
 * @param {State} state
 * @returns {string|null} its style
 */
export function token(stream, state) {
  if (state.comment) return comment(stream, state);
  if (stream.eatSpace()) return null;
  if (stream.match("//") || (stream.pos === 0 && stream.match("#"))) {
    stream.skipToEnd();
    return stream.string.startsWith("#") && !stream.string.startsWith("#!") ? "preprocessor" : "comment";
  }
  if (stream.match("/*")) return comment(stream, state);
  if (stream.peek() === '"') return string(stream);
  if (stream.match(/^@[A-Za-z_]\w*/) || stream.match("@")) return "map";
  if (stream.match(/^\$(?:\w+|#)/)) return "variable";
  if (stream.match(NUMBER)) return "number";
  const found = stream.match(/^[A-Za-z_]\w*/);
  if (found && found !== true) return word(stream, state, found[0]);
  return punctuation(stream, state);
}
