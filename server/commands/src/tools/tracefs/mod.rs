//! Lines that read and write files of tracefs with a shell: `echo function > current_tracer`, `cat trace`. Several lines are one
//! capture, which has a tracing instance of its own. What is set back at the end is not needed: the capture removes what it made.

mod events;
mod files;
mod probes;

use std::ops::Range;

pub(crate) use files::file_names;

use bathyscope_capture::{CaptureSpec, Limits, Method, SourceSpec, Target, TraceSpec};

use crate::{
    answer::{Answer, Marks, Page, Planned, Refusal, Result, SpanKind, StoredView, ViewName},
    call::{DefinedProbe, sleep_ms},
    host::Host,
    shell::{RedirectKind, Simple, Word},
};

/// Where tracefs is, as documents have it.
const FOLDERS: [&str; 6] = [
    "/sys/kernel/debug/tracing",
    "/sys/kernel/tracing",
    "/debug/tracing",
    "/debugfs/tracing",
    "/d/tracing",
    "/tracing",
];
/// How deep `sh -c` may be nested.
const MAX_SHELLS: usize = 2;

/// What lines so far have set.
#[derive(Debug, Default)]
pub(crate) struct Tracefs {
    pub(super) trace: TraceSpec,
    pub(super) enabled: Vec<events::EnabledEvent>,
    pub(super) filters: Vec<(String, String)>,
    pub(super) probes: Vec<probes::OwnProbe>,
    pids: Vec<u32>,
    argv: Option<Vec<String>>,
    duration_ms: Option<u64>,
    /// Whether the trace was switched on after it had been set up.
    is_on: bool,
    /// Whether it has ended: what follows sets things back.
    has_ended: bool,
    reads: bool,
    page: Option<(Page, String)>,
    said: Option<String>,
    /// Whether the shell is in a folder of tracefs.
    is_inside: bool,
    is_used: bool,
}

/// What is done to a file.
struct FileUse<'a> {
    /// The file's path in tracefs.
    path: String,
    /// Its place in the text.
    at: Range<usize>,
    /// What is written.
    word: &'a Word,
    /// Whether it is written behind what is there.
    appends: bool,
}

/// Whether a command reads or writes files as these lines do.
pub(crate) fn is_command(name: &str) -> bool {
    matches!(
        name,
        "echo"
            | "printf"
            | "cat"
            | "tee"
            | "cd"
            | "mount"
            | "umount"
            | "sysctl"
            | "mkdir"
            | "rmdir"
            | "head"
            | "tail"
            | "less"
            | "sh"
            | "bash"
            | "modprobe"
    )
}

impl Tracefs {
    /// Whether any line was of tracefs.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Whether anything is recorded by these lines alone.
    pub(crate) fn records(&self) -> bool {
        let has_probe = self.probes.iter().any(|one| one.is_enabled == Some(true));
        let is_chosen = self.trace.tracer.is_some() || !self.enabled.is_empty() || has_probe;
        is_chosen || self.is_on || self.reads && !self.probes.is_empty()
    }

    /// The probes that lines have defined.
    pub(crate) fn defined(&self) -> impl Iterator<Item = DefinedProbe> + '_ {
        self.probes.iter().map(|one| one.defined.clone())
    }

    /// Reads a command, if it is one of these lines.
    ///
    /// # Errors
    /// What is not understood or not possible.
    pub(crate) fn read(
        &mut self,
        first: &Simple,
        behind: &[Simple],
        host: &dyn Host,
        marks: &mut Marks,
    ) -> Result<bool> {
        self.command(first, behind, host, marks, 0)
    }

    fn command(
        &mut self,
        first: &Simple,
        behind: &[Simple],
        host: &dyn Host,
        marks: &mut Marks,
        depth: usize,
    ) -> Result<bool> {
        let skipped =
            first.words.iter().take_while(|word| matches!(word.text.as_str(), "sudo" | "doas" | "-E" | "-n")).count();
        let words = first.words.get(skipped..).unwrap_or_default();
        let Some((name, rest)) = words.split_first() else {
            // `> trace` alone empties the file.
            return self.redirected(&Word::default(), first, host, marks);
        };
        for word in first.words.get(..skipped).unwrap_or_default() {
            marks.mark(&word.source, SpanKind::Shell);
        }
        let understood = match super::bare_name(&name.text).as_str() {
            "echo" | "printf" => self.echo(rest, first, behind, host, marks)?,
            "cat" | "head" | "tail" | "less" | "more" | "grep" | "tac" | "zcat" => {
                self.shows(rest, first, host, marks)?
            }
            "cd" | "pushd" => self.folder(rest),
            "mount" | "umount" => self.mounts(rest),
            "mkdir" | "rmdir" => rest.last().is_some_and(|word| self.path_of(word).is_some()),
            "sysctl" => self.setting(rest, marks)?,
            "sh" | "bash" => return self.inner(rest, host, marks, depth),
            "trap" | "clear" | "exit" | "wait" | "kill" | "popd" if self.is_used => true,
            _ => false,
        };
        if understood {
            self.is_used = true;
            marks.mark(&name.source, SpanKind::Tool);
            for command in behind {
                marks.mark(&command.source(), SpanKind::Shell);
            }
        }
        Ok(understood)
    }

    /// `sh -c 'LINES'`
    fn inner(&mut self, rest: &[Word], host: &dyn Host, marks: &mut Marks, depth: usize) -> Result<bool> {
        let [option, lines] = rest else { return Ok(false) };
        if option.text != "-c" || depth >= MAX_SHELLS {
            return Ok(false);
        }
        let place = |inner: Refusal| Refusal { at: lines.place(inner.at), ..inner };
        let read = crate::shell::read(lines.plain()?, &super::is_command).map_err(place)?;
        let mut inner_marks = Marks::default();
        let mut all = true;
        for pipeline in &read.pipelines {
            let Some((first, behind)) = pipeline.commands.split_first() else { continue };
            all &= self.command(first, behind, host, &mut inner_marks, depth + 1).map_err(place)?;
        }
        let (spans, notes) = inner_marks.finish(&|at| at);
        for span in spans {
            marks.mark(&lines.place(span.start..span.end), span.kind);
        }
        for note in notes {
            let at = lines.place(note.start..note.end);
            if note.is_ignored { marks.ignore(&at, note.text) } else { marks.note(&at, note.text) }
        }
        Ok(all && !read.pipelines.is_empty())
    }

    /// `echo TEXT > FILE`, or `| tee FILE`
    fn echo(
        &mut self,
        rest: &[Word],
        first: &Simple,
        behind: &[Simple],
        host: &dyn Host,
        marks: &mut Marks,
    ) -> Result<bool> {
        let options = rest.iter().take_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-ne")).count();
        let words = rest.get(options..).unwrap_or_default();
        let text = words
            .split_first()
            .map_or_else(Word::default, |(first, rest)| rest.iter().fold(first.clone(), |all, one| all.with(one)));
        if let Some(tee) = behind.first() {
            return self.tee(&text, tee, host, marks);
        }
        self.redirected(&text, first, host, marks)
    }

    fn redirected(&mut self, text: &Word, first: &Simple, host: &dyn Host, marks: &mut Marks) -> Result<bool> {
        let mut understood = false;
        for one in first.redirects.iter().filter(|one| matches!(one.kind, RedirectKind::Out | RedirectKind::Append)) {
            if one.is_error {
                continue;
            }
            if let Some(path) = self.path_of(&one.word) {
                marks.mark(&one.word.source, SpanKind::Option);
                marks.mark(&text.source, SpanKind::Value);
                let appends = one.kind == RedirectKind::Append;
                let used = FileUse { path, at: one.word.source.clone(), word: text, appends };
                self.write(&used, host, marks)?;
                self.is_used = true;
                understood = true;
            } else if one.word.text.starts_with("/proc/sys/") {
                let name = one.word.text.trim_start_matches("/proc/sys/").replace('/', ".");
                self.setting_named(&name, text.text.trim(), marks, &one.word.source);
                self.is_used = true;
                understood = true;
            }
        }
        Ok(understood)
    }

    fn tee(&mut self, text: &Word, tee: &Simple, host: &dyn Host, marks: &mut Marks) -> Result<bool> {
        let words: Vec<&Word> =
            tee.words.iter().filter(|word| !matches!(word.text.as_str(), "sudo" | "doas")).collect();
        let Some((name, rest)) = words.split_first() else { return Ok(false) };
        let appends = rest.iter().any(|word| matches!(word.text.as_str(), "-a" | "--append"));
        let Some(file) = rest.iter().find(|word| !word.text.starts_with('-')) else { return Ok(false) };
        let Some(path) = self.path_of(file).filter(|_| name.text == "tee") else { return Ok(false) };
        let used = FileUse { path, at: file.source.clone(), word: text, appends };
        self.write(&used, host, marks)?;
        Ok(true)
    }

    /// `cat FILE`
    fn shows(&mut self, rest: &[Word], first: &Simple, host: &dyn Host, marks: &mut Marks) -> Result<bool> {
        let redirected = first.redirects.iter().filter(|one| one.kind == RedirectKind::In).map(|one| &one.word);
        let files: Vec<&Word> = rest.iter().chain(redirected).filter(|word| !word.text.starts_with('-')).collect();
        let mut understood = false;
        for file in files {
            let Some(path) = self.path_of(file) else { continue };
            marks.mark(&file.source, SpanKind::Option);
            self.show(&path, &file.source, host, marks)?;
            understood = true;
        }
        if understood {
            for one in first.redirects.iter().filter(|one| one.kind != RedirectKind::In) {
                marks.ignore(&one.source, "the redirection has no meaning here: rows can be exported from their page");
            }
        }
        Ok(understood)
    }

    fn folder(&mut self, rest: &[Word]) -> bool {
        let Some(folder) = rest.first() else { return false };
        let text = folder.text.trim_end_matches('/');
        let inside = FOLDERS
            .iter()
            .any(|known| text == *known || text.strip_prefix(known).is_some_and(|rest| rest.starts_with('/')));
        let relative = self.is_inside && !text.starts_with('/');
        let parent = matches!(text, "/sys/kernel/debug" | "/sys/kernel" | "-" | "tracing");
        self.is_inside = inside || relative || text == "tracing";
        inside || relative || parent
    }

    fn mounts(&mut self, rest: &[Word]) -> bool {
        let of_tracing = rest.iter().any(|word| {
            matches!(word.text.as_str(), "debugfs" | "tracefs")
                || FOLDERS.contains(&word.text.trim_end_matches('/'))
                || word.text == "/sys/kernel/debug"
        });
        if of_tracing {
            self.said = Some(
                "Nothing has to be mounted: Bathyscope mounts tracefs itself where it is missing, and says so."
                    .to_owned(),
            );
        }
        of_tracing
    }

    fn setting(&mut self, rest: &[Word], marks: &mut Marks) -> Result<bool> {
        let mut understood = false;
        for word in rest.iter().filter(|word| !word.text.starts_with('-')) {
            let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
            self.setting_named(&name.trim().replace('/', "."), value.trim(), marks, &word.source);
            understood = true;
        }
        Ok(understood)
    }

    fn setting_named(&mut self, name: &str, value: &str, marks: &mut Marks, at: &Range<usize>) {
        marks.mark(at, SpanKind::Option);
        let (page, words) = match name {
            "debug.kprobes-optimization" if matches!(value, "0" | "1") => (
                Page::new("/host", &[("kprobes", value)]),
                format!("Opens the page Host, where an admin confirms debug.kprobes-optimization = {value}; it is the setting of the machine and stays."),
            ),
            "debug.kprobes-optimization" => (
                Page::new("/host", &[]),
                "Shows which probes are optimised to jumps or based on ftrace; an admin can switch debug.kprobes-optimization there. Nothing is changed by pasting it.".to_owned(),
            ),
            name => (
                Page::new("/host", &[]),
                format!("Bathyscope does not change {name}. The page Host says which settings hide names or deny probes, and what to set."),
            ),
        };
        self.page = Some((page, words));
    }

    /// The path in tracefs of a file, if it is there.
    fn path_of(&self, word: &Word) -> Option<String> {
        let text = word.text.as_str();
        let whole = FOLDERS.iter().find_map(|folder| text.strip_prefix(folder)?.strip_prefix('/'));
        let relative = || {
            let text = text.strip_prefix("./").unwrap_or(text);
            let text = text.strip_prefix("tracing/").unwrap_or(text);
            let first = text.split('/').next().unwrap_or_default();
            (!text.starts_with('/') && (files::is_file(first) || self.is_inside && !text.is_empty())).then_some(text)
        };
        let path = whole.or_else(relative)?;
        // An instance of one's own is what each capture has.
        let path = match path.strip_prefix("instances/") {
            Some(rest) => rest.split_once('/').map_or("", |(_, rest)| rest),
            None => path,
        };
        Some(path.trim_end_matches('/').to_owned())
    }

    /// A command that is run between the lines.
    ///
    /// # Errors
    /// A second one; what a shell would expand.
    pub(crate) fn run(&mut self, words: &[Word], marks: &mut Marks) -> Result<()> {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Ok(()) };
        let at = first.source.start..last.source.end;
        marks.mark(&at, SpanKind::Target);
        let argv = words.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<Vec<_>>>()?;
        if self.has_ended {
            marks.ignore(&at, format!("`{}` is not started: the trace has ended before it", first.text));
            return Ok(());
        }
        if let Some(ms) = sleep_ms(&argv) {
            self.duration_ms = Some(self.duration_ms.unwrap_or(0) + ms);
        } else if self.argv.replace(argv).is_some() {
            return Err(Refusal::new(
                at,
                "a capture starts one command, and this is the second",
                "Put them into one script.",
            ));
        }
        Ok(())
    }

    /// What all lines together ask for.
    ///
    /// # Errors
    /// What cannot be recorded.
    pub(crate) fn answer(
        mut self,
        capture: Option<Box<Planned>>,
        view: Option<StoredView>,
        host: &dyn Host,
        marks: &mut Marks,
    ) -> Result<Answer> {
        if let Some(capture) = capture {
            if self.records() {
                return Err(Refusal::new(0..0, "the text asks for two captures", "Start one after the other."));
            }
            return Ok(Answer::Capture(capture));
        }
        self.add_events(host, marks)?;
        if self.trace.tracer.is_none() && self.trace.events.is_empty() && self.trace.dynamic.is_empty() {
            return Ok(self.without_capture(view, marks));
        }
        let watched = match self.pids.as_slice() {
            [] => Target::System,
            pids => Target::of_processes(pids, self.trace.options.contains(&("function-fork".to_owned(), true))),
        };
        let target = match self.argv.take() {
            Some(argv) => Target::during(argv, None, watched),
            None => watched,
        };
        let is_graph = self.trace.tracer.as_deref() == Some("function_graph");
        let opens = if is_graph { ViewName::Calls } else { ViewName::Events };
        let limits = Limits { duration_ms: self.duration_ms, ..Limits::default() };
        let sources = vec![SourceSpec::of(Method::Trace(self.trace))];
        let spec = CaptureSpec { name: String::new(), sources, target, limits };
        spec.validate().map_err(|error| Refusal::new(0..0, error.to_string(), "Change that line."))?;
        Ok(Answer::Capture(Box::new(Planned { spec, opens, missing: None })))
    }

    fn without_capture(self, view: Option<StoredView>, marks: &mut Marks) -> Answer {
        if self.reads {
            return Answer::Stored(view.unwrap_or_else(|| StoredView::newest(ViewName::Events)));
        }
        if let Some((page, words)) = self.page {
            marks.say(words);
            return Answer::Page(page);
        }
        let words = self.said.unwrap_or_else(|| {
            "These lines set nothing that records. Choose a tracer, an event or a probe.".to_owned()
        });
        marks.say(words);
        Answer::Nothing
    }
}
