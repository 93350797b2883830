//! Scripts of the probe language: what the console asks for and what it is told. Both may be large: see [`crate::large`].

use std::{fmt, str::FromStr};

use bathyscope_plan::{Diagnostic, Plan, UserFile, UserPlaces};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::AgentError;

/// The longest script.
pub const MAX_SCRIPT_BYTES: usize = 64 << 10;
/// The most parameters of a script.
pub const MAX_SCRIPT_PARAMETERS: usize = 256;
/// The longest name, parameter or setting of a script.
pub const MAX_PARAMETER_BYTES: usize = 4096;
/// The most places in user space, of all attach points together.
pub const MAX_USER_PLACES: usize = 32_768;
/// The most keys in a request.
pub const MAX_KEYS: usize = 256;
/// The most ids of stacks in a request.
pub const MAX_STACK_IDS: usize = 4096;
/// The most bytes in the descriptor of a [`MapPage`].
pub const MAX_MAP_PAGE_BYTES: usize = 4 << 20;
/// The longest key of a map.
pub const MAX_KEY_BYTES: usize = 16 << 10;
/// The most rows of unwind tables, of all files together.
pub const MAX_UNWIND_ROWS: usize = bathyscope_plan::MAX_UNWIND_ROWS as usize;
/// The most files with unwind tables.
pub const MAX_UNWIND_FILES: usize = bathyscope_plan::MAX_UNWIND_FILES as usize;
/// Digits of a row on the wire.
const ROW_DIGITS: usize = 16;
/// The longest path of a file of user space.
pub const MAX_PATH_BYTES: usize = 4096;

/// A script to be compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireScript {
    /// The name of its file, or one made up, for messages.
    pub name: String,
    /// At most [`MAX_SCRIPT_BYTES`].
    pub text: String,
    /// Its parameters as given: positional ones and those that `getopt` reads.
    pub parameters: Vec<String>,
    /// Whether it may do what changes the host. The agent refuses it unless it was started so.
    pub allow_unsafe: bool,
    /// Whether each record carries the thread's name.
    pub comm: bool,
    /// Whether nobody keeps a ledger, or rows: then neither are hits counted, nor do records that only show something say
    /// when, where and by whom they were made.
    pub bare: bool,
    /// Settings from outside: variables of the environment (`BPFTRACE_MAX_MAP_KEYS`), which win over those in the script.
    pub settings: Vec<(String, String)>,
    /// The places in user space that the console found for the script's attach points.
    pub user_places: Vec<UserPlaces>,
    /// The tables that the console made for `dw_ustack`: at most [`MAX_UNWIND_FILES`], with at most [`MAX_UNWIND_ROWS`]
    /// together.
    pub unwind: Vec<UnwindTable>,
}

/// How stacks are walked in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnwindTable {
    /// The file.
    pub file: UserFile,
    /// Its rows, sorted, as `catalog::elf` makes them.
    pub rows: Rows,
}

/// Numbers of 64 bits, as hexadecimal digits without anything between on the wire; at most [`MAX_UNWIND_ROWS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(pub Vec<u64>);

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use fmt::Write as _;
        let mut text = String::with_capacity(ROW_DIGITS * self.0.len());
        for row in &self.0 {
            // Writing to a String cannot fail.
            let _infallible = write!(text, "{row:016x}");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("not numbers of 16 hexadecimal digits within the limit");
        let (rows, rest) = text.as_bytes().as_chunks::<ROW_DIGITS>();
        if rows.len() > MAX_UNWIND_ROWS || !rest.is_empty() {
            return Err(wrong());
        }
        let number = |row: &[u8; ROW_DIGITS]| {
            let digit = |number: u64, byte: &u8| Some(number << 4 | u64::from(char::from(*byte).to_digit(16)?));
            row.iter().try_fold(0, digit)
        };
        rows.iter().map(number).collect::<Option<_>>().map(Self).ok_or_else(wrong)
    }
}

/// What can be told about a place of a script that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFacts {
    /// What can stand there, the best first.
    pub completions: Vec<ScriptCompletion>,
    /// What stands there.
    pub hover: Option<ScriptHover>,
}

/// Something that can stand at a place of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCompletion {
    /// What is shown.
    pub label: String,
    /// What it is: `field`, `function`, `probe` …
    pub kind: String,
    /// Its type or signature, or what it does; may be empty.
    pub detail: String,
    /// What is put in.
    pub insert: String,
    /// In place of what: its first byte.
    pub start: u32,
}

/// Something that stands in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptHover {
    /// Its type, or how it is called.
    pub title: String,
    /// What it is; may be empty.
    pub text: String,
    /// Its first byte.
    pub start: u32,
    /// The first byte after it.
    pub end: u32,
}

/// A stage of the compiler that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStage {
    /// The tree, as a script.
    Ast,
    /// The script with its types.
    Types,
    /// The intermediate representation.
    Ir,
    /// The instructions.
    Bpf,
    /// The object file.
    Elf,
}

/// What came of a script that was only to be compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptChecked {
    /// Errors, and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// What it would do; none if there are errors.
    pub plan: Option<Plan>,
    /// What was to be shown; the object file as hexadecimal digits. Empty if there are errors.
    pub shown: String,
    /// Nanoseconds spent on compiling.
    pub compile_ns: u64,
}

/// What only a script has that is loaded and ready to be enabled. Its first ring is its own
/// ([`crate::RingContent::Script`]), even if it never says anything; rings of the side band follow if the plan shows
/// addresses of user space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStarted {
    /// What the script does, and the warnings of compiling it.
    pub plan: Plan,
    /// CPUs whose values a per-CPU map has.
    pub cpus: u32,
    /// Attach points that could not be prepared, where the script's settings let it run without them.
    pub failed: Vec<ProbeFailure>,
    /// What it takes.
    pub stats: ObjectStats,
}

/// What a script takes of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectStats {
    /// Programs loaded.
    pub programs: u32,
    /// Their instructions together.
    pub instructions: u32,
    /// Bytes that its maps may take, and the ring.
    pub map_bytes: u64,
}

/// An attach point that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeFailure {
    /// Its index in the plan's probes.
    pub probe: u32,
    /// Why.
    pub error: AgentError,
}

/// Why a script does not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRefused {
    /// At least one error; the verifier's log is the detail of one.
    pub diagnostics: Vec<Diagnostic>,
}

/// What only a script has that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptEnabled {
    /// Attach points that are attached, `begin`, `end` and signals among them.
    pub attached: u32,
    /// Those that could not be attached, where the script's settings let it run without them; not those of
    /// [`ScriptStarted::failed`].
    pub failed: Vec<ProbeFailure>,
    /// Nanoseconds spent on attaching.
    pub attach_ns: u64,
}

/// Elements of a map. In the descriptor there is for each its key ([`key_bytes`](bathyscope_plan::MapPlan), the
/// index of 4 bytes in an array), and its value: one of each CPU in a per-CPU map, in the CPUs' order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapPage {
    /// How many elements.
    pub count: u32,
    /// How to ask for the next page; none after the last.
    pub next: Option<Bytes>,
}

/// Bytes, as hexadecimal digits on the wire; at most [`MAX_KEY_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use fmt::Write as _;
        let mut text = String::with_capacity(2 * self.0.len());
        for byte in &self.0 {
            // Writing to a String cannot fail.
            let _infallible = write!(text, "{byte:02x}");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("not an even number of hexadecimal digits within the limit");
        if text.len() > 2 * MAX_KEY_BYTES || !text.len().is_multiple_of(2) {
            return Err(wrong());
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        text.as_bytes().chunks(2).map(byte).collect::<Option<_>>().map(Self).ok_or_else(wrong)
    }
}

/// The name of a module of the kernel: letters, digits, `_` and `-`, at most 64.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleName(String);

/// A name that no module of the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a module's name has 1 to 64 letters, digits, `_` and `-`")]
pub struct ModuleNameError;

impl ModuleName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ModuleName {
    type Err = ModuleNameError;

    fn from_str(text: &str) -> Result<Self, ModuleNameError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = (1..=64).contains(&text.len());
        if length && text.bytes().all(good) { Ok(Self(text.to_owned())) } else { Err(ModuleNameError) }
    }
}

impl fmt::Display for ModuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ModuleName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ModuleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_hexadecimal() {
        let bytes = Bytes(vec![0, 0x7f, 0xff]);
        assert_eq!(serde_json::to_string(&bytes).unwrap(), "\"007fff\"");
        assert_eq!(serde_json::from_str::<Bytes>("\"007FfF\"").unwrap(), bytes);
        let long = format!("\"{}\"", "00".repeat(MAX_KEY_BYTES + 1));
        for wrong in ["\"0\"", "\"0g\"", "\"ä\"", "7", &long] {
            assert!(serde_json::from_str::<Bytes>(wrong).is_err());
        }
    }

    #[test]
    fn rows_are_numbers_of_sixteen_digits() {
        let rows = Rows(vec![0, 0x1234_5678_9abc_def0, u64::MAX]);
        let text = "\"0000000000000000123456789abcdef0ffffffffffffffff\"";
        assert_eq!(serde_json::to_string(&rows).unwrap(), text);
        assert_eq!(serde_json::from_str::<Rows>(text).unwrap(), rows);
        let long = format!("\"{}\"", "0".repeat(ROW_DIGITS * (MAX_UNWIND_ROWS + 1)));
        for wrong in ["\"0\"", "\"000000000000000g\"", "\"+00000000000000f\"", "7", &long] {
            assert!(serde_json::from_str::<Rows>(wrong).is_err());
        }
    }

    #[test]
    fn names_of_modules_are_no_paths() {
        for good in ["ext4", "snd_hda", "nf-tables", "8021q"] {
            assert_eq!(good.parse::<ModuleName>().unwrap().as_str(), good);
        }
        for wrong in ["", "..", "a/b", "a b", "a\0", &"x".repeat(65)] {
            assert!(wrong.parse::<ModuleName>().is_err(), "{wrong}");
        }
    }
}
