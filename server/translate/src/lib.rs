//! Scripts of other tracers → the probe language: what one-liners and short scripts of DTrace and SystemTap use. Text in, text
//! out. What has no equal is refused at its place with the reason and the nearest that works; nothing is left out in silence.
#![forbid(unsafe_code)]

mod calls;
mod dtrace;
mod emit;
mod expressions;
mod formats;
mod lexer;
mod output;
mod refusal;
mod statements;
mod systemtap;
mod tree;

use bathyscope_plan::{Diagnostic, Span};

/// Bytes of a script that is translated.
pub const MAX_TEXT_BYTES: usize = 32 * 1024;
/// Bytes of its translation, with the original as a comment: what the probe language takes.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// Probes of a script, with all of its lists taken apart.
pub const MAX_POINTS: usize = 64;
/// How high the tree of an expression may be, and how deep statements may be nested.
pub const MAX_DEPTH: u32 = 48;

/// The language that a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// D, of DTrace.
    DTrace,
    /// That of SystemTap.
    SystemTap,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::DTrace => "D (DTrace)",
            Self::SystemTap => "SystemTap",
        }
    }
}

/// The process that the script's command line names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScriptTarget {
    /// None.
    #[default]
    None,
    /// A running one: `-p` of dtrace, `-x` of stap.
    Process(u32),
    /// One that is started, by the path of its program: `-c` of both.
    Command(String),
}

/// What stands beside a script on its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslateOptions {
    /// The values of `$1`, `$2`, ….
    pub parameters: Vec<String>,
    /// What `$target` and `target()` are.
    pub target: ScriptTarget,
    /// The option `-q` of dtrace.
    pub quiet: bool,
}

/// A script in the probe language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Its text. The original stands above it as a comment.
    pub script: String,
    /// What is shown in another way than by the other tracer, each with its place in the original.
    pub notes: Vec<Diagnostic>,
}

/// Translates a script.
///
/// # Errors
/// What has no equal, at its place in `text`, with the reason and the nearest that works.
pub fn translate(language: Language, text: &str, options: &TranslateOptions) -> Result<Translation, Box<Diagnostic>> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the script has {} bytes; at most {MAX_TEXT_BYTES} are translated", text.len());
        return refusal::refuse(Span::default(), message, "translate it in parts");
    }
    let output = match language {
        Language::DTrace => dtrace::translated(text, options)?,
        Language::SystemTap => systemtap::translated(text, options)?,
    };
    output.finish(language, text)
}
