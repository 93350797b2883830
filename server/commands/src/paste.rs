//! A whole text: its commands in their order, and what they ask for together.

use bathyscope_capture::DynamicProbe;
use bathyscope_catalog::{closest, pasted::Plain};

use crate::{
    answer::{Answer, Explanation, Marks, Page, Planned, Refusal, Result, SpanKind, StoredView},
    call::{Call, DefinedProbe, ProbeSteps, Step, sleep_ms},
    host::Host,
    sentence,
    shell::{self, Lines, Pipeline, Simple, Word, WrittenFile},
    tools::{self, Before, tracefs::Tracefs},
};

/// The longest text.
pub const MAX_COMMAND_BYTES: usize = 64 << 10;

/// What was read so far.
#[derive(Default)]
struct Paste {
    tracefs: Tracefs,
    probes: Vec<DefinedProbe>,
    removed: Vec<String>,
    /// Whether a probe whose name is taken gets another name.
    force: bool,
    /// Whether it is only told what would be done with probes.
    dry_run: bool,
    capture: Option<Box<Planned>>,
    view: Option<StoredView>,
    page: Option<(Page, String)>,
    nothing: Option<String>,
    /// Files that lines of the text write, which others read.
    files: Vec<WrittenFile>,
    /// Whether the capture is of a tool in the background.
    is_background: bool,
}

/// Reads a text of one or several commands.
pub fn explain(text: &str, host: &dyn Host) -> Explanation {
    let mut marks = Marks::default();
    if text.len() > MAX_COMMAND_BYTES {
        let why = format!("the text has {} bytes, and at most {MAX_COMMAND_BYTES} are read", text.len());
        return finish(Err(Refusal::new(0..0, why, "Paste less at once.")), marks, &|at| at);
    }
    let plain = Plain::of(text);
    for note in &plain.notes {
        marks.note(&(0..0), note.clone());
    }
    let answer = read(&plain.text, host, &mut marks);
    finish(answer, marks, &|at| boundary(text, plain.original(at)))
}

/// The end of the character that a place is in.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn finish(answer: Result<Answer>, mut marks: Marks, place: &dyn Fn(usize) -> usize) -> Explanation {
    let answer = answer.unwrap_or_else(Answer::Refused);
    if let Answer::Refused(refusal) = &answer {
        marks.mark(&refusal.at, SpanKind::Refused);
    }
    let words = match &answer {
        Answer::Capture(planned) => sentence::of_capture(planned),
        Answer::Probes { add, remove, force, dry_run } => of_probes(add, remove, (*force, *dry_run)),
        Answer::Stored(stored) if marks.said().is_empty() => of_stored(stored),
        Answer::Page(_) | Answer::Nothing | Answer::Stored(_) => marks.said().to_owned(),
        Answer::Foreign { .. } => OF_BCC.to_owned(),
        Answer::Refused(refusal) => {
            let end = if refusal.why.ends_with(['.', '?', '!']) { "" } else { "." };
            format!("{}{end} {}", capital(&refusal.why), refusal.remedy)
        }
    };
    let (spans, notes) = marks.finish(place);
    let answer = match answer {
        Answer::Refused(refusal) => {
            Answer::Refused(Refusal { at: place(refusal.at.start)..place(refusal.at.end), ..refusal })
        }
        answer => answer,
    };
    Explanation { answer, words: words.trim().to_owned(), spans, notes }
}

/// A sentence begins with a capital letter, unless its first word is a name.
fn capital(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    if !first.bytes().all(|byte| byte.is_ascii_alphabetic()) || tools::names().any(|name| name == first) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn of_probes(add: &[DynamicProbe], remove: &[String], (force, dry_run): (bool, bool)) -> String {
    let texts: Vec<String> = add.iter().map(|probe| format!("`{}`", probe.typed)).collect();
    let (one, it) = if add.len() == 1 { ("probe", "it") } else { ("probes", "them") };
    let mut words = Vec::new();
    if dry_run {
        words.push("Only says what would be done.".to_owned());
    }
    if !remove.is_empty() {
        let names: Vec<String> = remove.iter().map(|name| format!("`{name}`")).collect();
        words.push(format!("Deletes the kept probes {}, which can be restored for 30 days.", sentence::list(&names)));
    }
    if !add.is_empty() {
        let list = sentence::list(&texts);
        let other = if force { " A name that is taken gets a number behind it." } else { "" };
        words.push(format!(
            "Keeps the {one} {list} by name.{other} A capture that names {it} makes {it}, records {it} and removes {it}: between \
             captures nothing stays in the kernel."
        ));
    }
    words.join(" ")
}

fn of_stored(stored: &StoredView) -> String {
    let of = match &stored.file {
        Some(file) => format!("the capture of {file}"),
        None => "the newest capture".to_owned(),
    };
    let filters = if stored.filters.is_empty() {
        String::new()
    } else {
        format!(", only rows with {}", sentence::list(&stored.filters))
    };
    let search = stored.search.as_deref().map(|text| format!(", at {text}")).unwrap_or_default();
    format!("Shows {} of {of}{filters}{search}.", stored.view.words())
}

const OF_BCC: &str = "This is a script in Python with BPF programs in C, for BCC, which is not translated. Write it in the \
                      probe language: the language reference shows how.";

/// A script that stands alone, without the tool that runs it.
fn bare_script(text: &str, marks: &mut Marks) -> Option<Result<Answer>> {
    let all = 0..text.trim_end().len();
    if text.contains("from bcc import") {
        marks.mark(&all, SpanKind::Script);
        return Some(Ok(Answer::Foreign { script: text.to_owned() }));
    }
    tools::bare_script(text).map(|planned| {
        marks.mark(&all, SpanKind::Script);
        planned.map(|planned| Answer::Capture(Box::new(planned)))
    })
}

/// Reads the commands of a text.
fn read(text: &str, host: &dyn Host, marks: &mut Marks) -> Result<Answer> {
    if let Some(answer) = bare_script(text, marks) {
        return answer;
    }
    let Lines { pipelines, comments, signs, printed } = shell::read(text, &tools::is_command)?;
    for comment in &comments {
        marks.mark(comment, SpanKind::Comment);
    }
    for sign in &signs {
        marks.mark(sign, SpanKind::Shell);
    }
    if printed > 0 {
        let lines = if printed == 1 { "one line was".to_owned() } else { format!("{printed} lines were") };
        marks.note(&(0..0), format!("{lines} skipped: what stands without a prompt was printed by a command"));
    }
    let mut paste = Paste::default();
    for pipeline in &pipelines {
        paste.pipeline(pipeline, host, marks)?;
    }
    paste.answer(host, marks)
}

/// Commands that start a tool elsewhere or again and again: why they are refused, and what is nearest.
const ELSEWHERE: [(&[&str], &str, &str); 3] = [
    (
        &["docker", "podman", "nerdctl", "crictl", "kubectl", "nsenter", "chroot", "unshare"],
        "processes of containers are seen from the host",
        "Write the command behind it alone, and choose the container as target; ids of processes are those of the host.",
    ),
    (&["ssh", "mosh"], "commands are about this host", "Open Bathyscope on the other host."),
    (&["watch"], "values are shown while they change", "Write the command behind it alone."),
];

impl Paste {
    fn pipeline(&mut self, pipeline: &Pipeline, host: &dyn Host, marks: &mut Marks) -> Result<()> {
        let passed_on = shell::passed_on(pipeline);
        let pipeline = passed_on.as_ref().unwrap_or(pipeline);
        let Some((first, behind)) = pipeline.commands.split_first() else { return Ok(()) };
        if self.tracefs.read(first, behind, host, marks)? {
            return Ok(());
        }
        if let Some(file) = passed_on.as_ref().and_then(|_| WrittenFile::of(first)) {
            marks.mark(&file.text.source, SpanKind::Script);
            self.files.push(file);
            return Ok(());
        }
        let Before { start, timeout_ms, settings } = tools::before(&first.words, marks)?;
        let words = first.words.get(start..).unwrap_or_default();
        let Some((name, words)) = words.split_first() else { return Ok(()) };
        let tool = tools::bare_name(&name.text);
        for word in settings.iter().filter(|_| tool != "bpftrace") {
            marks.ignore(&word.source, format!("{} has no meaning here: it is about bpftrace", word.text));
        }
        // It comes back at once, as what is in the background.
        let starts = tool == "trace-cmd" && words.first().is_some_and(|word| word.text == "start");
        let kept = host.kept_probes().iter().filter_map(DefinedProbe::kept);
        let probes: Vec<DefinedProbe> = self.probes.iter().cloned().chain(self.tracefs.defined()).chain(kept).collect();
        let mut call = Call {
            name,
            tool,
            words,
            redirects: &first.redirects,
            host,
            marks,
            probes: &probes,
            files: &self.files,
            settings: &settings,
        };
        match tools::read(&mut call)? {
            Some(step) => {
                marks_of_behind(behind, marks);
                self.is_background = pipeline.is_background || starts;
                self.step(ends_after(step, timeout_ms), first, behind, host, marks)
            }
            None => self.other(first, start, marks),
        }
    }

    fn step(
        &mut self,
        step: Step,
        first: &Simple,
        behind: &[Simple],
        host: &dyn Host,
        marks: &mut Marks,
    ) -> Result<()> {
        match step {
            Step::Capture(planned) => {
                if self.capture.is_some() {
                    return Err(Refusal::new(
                        first.source(),
                        "the text asks for a second capture",
                        "Start one capture after the other, or record both in one: `perf record -e A -e B`.",
                    ));
                }
                self.capture = Some(planned);
            }
            Step::View(view) => self.view(view),
            Step::Page(page, words) => self.page = Some((page, words)),
            Step::Probes(steps) => self.define(steps),
            Step::Nothing(why) => self.nothing = Some(why),
        }
        for command in behind {
            if let Some(view) = tools::view_behind(command, host, marks)? {
                self.view(view);
            }
        }
        Ok(())
    }

    /// What is asked for last is shown.
    fn view(&mut self, view: StoredView) {
        match &mut self.capture {
            Some(capture) => capture.opens = view.view,
            None => self.view = Some(view),
        }
    }

    fn define(&mut self, ProbeSteps { add, remove, force, dry_run }: ProbeSteps) {
        self.force |= force;
        self.dry_run |= dry_run;
        self.probes.extend(add);
        for pattern in remove {
            let matches = |one: &DefinedProbe| {
                let whole = format!("{}:{}", one.group, one.event);
                bathyscope_catalog::matches_wildcards(&pattern, &whole)
                    || bathyscope_catalog::matches_wildcards(&pattern, &one.event)
            };
            let own = self.probes.iter().any(matches);
            // What a capture makes it removes.
            if !own {
                self.removed.push(pattern);
            } else if self.capture.is_none() {
                self.probes.retain(|one| !matches(one));
            }
        }
    }

    /// A command that no tool reads: what a trace that was switched on records.
    fn other(&mut self, first: &Simple, start: usize, marks: &mut Marks) -> Result<()> {
        let words = first.words.get(start..).unwrap_or_default();
        let Some(name) = words.first() else { return Ok(()) };
        if self.tracefs.records() {
            return self.tracefs.run(words, marks);
        }
        if self.around(words, marks)? {
            return Ok(());
        }
        if let (true, Some(one)) = (tools::bare_name(&name.text) == "echo", first.redirects.first()) {
            let near =
                closest(&one.word.text, tools::tracefs::file_names()).map(|near| format!("Did you mean `{near}`?"));
            let why = format!("`{}` is no file of tracefs", one.word.text);
            let remedy = near.unwrap_or_else(|| "Write its whole path, below /sys/kernel/tracing.".to_owned());
            return Err(Refusal::new(one.word.source.clone(), why, remedy));
        }
        if let Some((_, why, remedy)) = ELSEWHERE.iter().find(|(names, ..)| names.contains(&name.text.as_str())) {
            return Err(Refusal::new(name.source.clone(), format!("`{}` is not started: {why}", name.text), *remedy));
        }
        let known = closest(&name.text, tools::names());
        let remedy = match known {
            Some(near) => format!("Did you mean `{near}`?"),
            None => "Write strace, perf, trace-cmd, bpftrace or another tool before it, such as `strace COMMAND`."
                .to_owned(),
        };
        Err(Refusal::new(name.source.clone(), format!("`{}` is no tool that is known here", name.text), remedy))
    }

    /// Commands that people have around those of tools, and that change nothing of what is recorded; a `sleep` beside a tool in
    /// the background is how long it records.
    fn around(&mut self, words: &[Word], marks: &mut Marks) -> Result<bool> {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Ok(false) };
        let at = first.source.start..last.source.end;
        let why = match first.text.as_str() {
            "cd" | "pushd" | "popd" => "commands are started in the folder that Bathyscope was started in",
            "export" | "unset" | "set" | "ulimit" => "commands have the environment that Bathyscope was started with",
            "kill" | "killall" | "pkill" | "wait" | "fg" | "bg" | "jobs" => "a capture is stopped on its page",
            "clear" | "exit" | "sync" | "true" | "modprobe" | "git" | "wget" | "curl" | "chmod"
                if self.capture.is_some() || words.len() < 3 =>
            {
                "it is about something else than recording"
            }
            "sleep" => {
                let argv = words.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<Vec<_>>>()?;
                let Some(ms) = sleep_ms(&argv) else { return Ok(false) };
                if let (Some(capture), true) = (&mut self.capture, self.is_background)
                    && capture.spec.target.command().is_none()
                    && capture.spec.limits.duration_ms.is_none()
                {
                    marks.mark(&at, SpanKind::Value);
                    capture.spec.limits.duration_ms = Some(ms);
                    return Ok(true);
                }
                "nothing has to be waited for"
            }
            _ => return Ok(false),
        };
        marks.ignore(&at, format!("{} has no meaning here: {why}", first.text));
        Ok(true)
    }

    fn answer(self, host: &dyn Host, marks: &mut Marks) -> Result<Answer> {
        let Self { tracefs, probes, removed, force, dry_run, capture, view, page, nothing, .. } = self;
        let definitions = |probes: Vec<DefinedProbe>| probes.into_iter().map(|one| one.probe).collect::<Vec<_>>();
        let has_others = capture.is_some() || !probes.is_empty() || page.is_some();
        if tracefs.is_used() && (tracefs.records() || !has_others) {
            return tracefs.answer(capture, view, host, marks);
        }
        if let Some(capture) = capture {
            return Ok(Answer::Capture(capture));
        }
        if !probes.is_empty() || !removed.is_empty() {
            return Ok(Answer::Probes { add: definitions(probes), remove: removed, force, dry_run });
        }
        if let Some(view) = view {
            return Ok(Answer::Stored(view));
        }
        if let Some((page, words)) = page {
            marks.say(words);
            return Ok(Answer::Page(page));
        }
        marks.say(nothing.unwrap_or_else(|| "There is no command in it.".to_owned()));
        Ok(Answer::Nothing)
    }
}

/// A capture that `timeout` ends, if nothing ends it earlier.
fn ends_after(step: Step, timeout_ms: Option<u64>) -> Step {
    match (step, timeout_ms) {
        (Step::Capture(mut planned), Some(ms)) => {
            let limits = &mut planned.spec.limits;
            limits.duration_ms = Some(limits.duration_ms.map_or(ms, |other| other.min(ms)));
            Step::Capture(planned)
        }
        (step, _) => step,
    }
}

fn marks_of_behind(behind: &[Simple], marks: &mut Marks) {
    for command in behind {
        marks.mark(&command.source(), SpanKind::Shell);
    }
}
