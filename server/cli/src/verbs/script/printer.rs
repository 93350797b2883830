//! Events of a script → its output.

use std::{path::Path, sync::Arc};

use bathyscope_bpf::lang::render;
use bathyscope_capture::visible;
use bathyscope_decode::script::{Form, Message, Record, Renderer, safe_for_terminal};
use bathyscope_plan::{Action, Diagnostic, Output, Plan};
use bathyscope_recorder::script::{MapSnapshot, ScriptEvent};

use super::{
    names::ScriptNames,
    outside,
    signals::Signals,
    sink::{Buffering, ScriptOutput},
};
use crate::Failure;

/// What decides how output looks.
#[derive(Clone, Debug)]
pub(super) struct OutputStyle {
    pub(super) form: Form,
    pub(super) buffering: Buffering,
    pub(super) quiet: bool,
    pub(super) warnings: bool,
    /// Whether text of events goes out as it came, where that is no terminal.
    pub(super) raw: bool,
}

/// How a map is printed.
#[derive(Clone, Copy, Debug)]
enum How {
    /// When the script ends.
    AtEnd,
    /// As a script asks for it: at most so many elements, divided by this.
    Asked(Option<u64>, Option<u64>),
    /// One element of it.
    Element(Option<u64>),
}

/// Prints what a script says.
pub(super) struct ScriptPrinter {
    sink: ScriptOutput,
    look: OutputStyle,
    name: String,
    text: String,
    /// Whether standard error shows what it gets instead of keeping it.
    error_is_terminal: bool,
    signals: Signals,
    /// Programs of `system()` that were not run, since the script had been ended.
    dropped: u64,
}

impl ScriptPrinter {
    pub(super) fn new(output: Option<&Path>, look: OutputStyle, name: &str, text: &str) -> Result<Self, Failure> {
        let error_is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let sink = ScriptOutput::open(output, look.buffering, look.raw || look.form == Form::Json)?;
        let look = OutputStyle { raw: look.raw && !sink.is_terminal(), ..look };
        let (name, text, signals) = (name.to_owned(), text.to_owned(), Signals::default());
        Ok(Self { sink, look, name, text, error_is_terminal, signals, dropped: 0 })
    }

    /// Runs no program of `system()` after these have asked for the end, but those of `end` probes.
    pub(super) fn stop_at(&mut self, signals: Signals) {
        self.signals = signals;
    }

    /// Whether anybody still reads.
    pub(super) fn is_read(&self) -> bool {
        self.sink.is_open()
    }

    /// Says how many probes are attached, unless nobody wants to know.
    pub(super) fn attached(&mut self, plan: &Plan, names: &ScriptNames, probes: u32) -> Result<(), Failure> {
        if self.look.quiet {
            return Ok(());
        }
        let message = Renderer::new(self.look.form, plan, names).attached(probes as usize);
        self.say(&message)?;
        self.sink.pause()
    }

    /// What the compiler has to remark.
    pub(super) fn diagnostics(&self, diagnostics: &[Diagnostic], detail: bool) {
        self.error(diagnostics_text(&self.text, &self.name, diagnostics, detail).as_bytes());
    }

    /// Prints events, in their order, whose stacks `names` knows.
    pub(super) fn events(&mut self, plan: &Plan, names: &ScriptNames, events: &[ScriptEvent]) -> Result<(), Failure> {
        for event in events {
            self.event(plan, names, event)?;
        }
        self.sink.pause()
    }

    fn event(&mut self, plan: &Plan, names: &ScriptNames, event: &ScriptEvent) -> Result<(), Failure> {
        match event {
            ScriptEvent::Record(record) => self.record(plan, names, record),
            ScriptEvent::Map { record, snapshot } => {
                let how = match plan.sites.get(record.site as usize).map(|site| &site.action) {
                    Some(Action::PrintMap { top, div, .. }) => How::Asked(*top, *div),
                    Some(Action::PrintElement { div, .. }) => How::Element(*div),
                    _ => How::Asked(None, None),
                };
                self.map(plan, names, snapshot, how)
            }
            ScriptEvent::Trouble(why) => {
                self.note(why);
                Ok(())
            }
            ScriptEvent::Stacks(_) | ScriptEvent::Final(_) | ScriptEvent::Exit { .. } | ScriptEvent::Emptied { .. } => {
                Ok(())
            }
        }
    }

    fn record(&mut self, plan: &Plan, names: &ScriptNames, record: &Record) -> Result<(), Failure> {
        let (name, text) = (self.name.clone(), self.text.clone());
        let renderer = Renderer::new(self.look.form, plan, names).source(&name, &text).raw(self.look.raw);
        if let Some(message) = renderer.record(record) {
            return self.say(&message);
        }
        let Some(words) = renderer.formatted(record) else { return Ok(()) };
        let shown = match plan.sites.get(record.site as usize).map(|site| &site.action) {
            Some(Action::Cat { .. }) => {
                outside::cat(&words, plan.config.max_cat_bytes).map(|content| renderer.cat(content))
            }
            Some(Action::System { .. }) => {
                let stop = if plan.is_end(record.probe) { Signals::default() } else { self.signals.clone() };
                if stop.is_stopped() {
                    self.dropped += 1;
                    return Ok(());
                }
                // What was printed before comes before what the program prints.
                self.sink.flush()?;
                outside::system(&words, &stop).map(|output| renderer.system(output))
            }
            _ => return Ok(()),
        };
        match shown {
            Ok(bytes) => self.sink.write(&bytes),
            Err(why) => {
                self.note(&why);
                Ok(())
            }
        }
    }

    fn map(&mut self, plan: &Plan, names: &ScriptNames, snapshot: &MapSnapshot, how: How) -> Result<(), Failure> {
        let Some((map, snapshot)) = snapshot.read(plan) else { return Ok(()) };
        if snapshot.faulty > 0 {
            self.note(&format!("{}: {} elements could not be decoded and are left out", map.name, snapshot.faulty));
        }
        let renderer = Renderer::new(self.look.form, plan, names).raw(self.look.raw);
        let bytes = match how {
            How::AtEnd => renderer.map(map, &snapshot, None, None),
            How::Asked(top, div) => renderer.map(map, &snapshot.with_unset(map), top, div),
            How::Element(div) => snapshot.entries.iter().flat_map(|entry| renderer.element(map, entry, div)).collect(),
        };
        self.sink.write(&bytes)
    }

    /// The maps that a script leaves behind, by name.
    pub(super) fn maps(
        &mut self,
        plan: &Arc<Plan>,
        names: &ScriptNames,
        mut snapshots: Vec<MapSnapshot>,
    ) -> Result<(), Failure> {
        let name = |snapshot: &MapSnapshot| plan.maps.get(snapshot.map as usize).map(|map| map.name.clone());
        snapshots.sort_by_key(name);
        let end = Renderer::new(self.look.form, plan, names).end();
        self.sink.write(&end)?;
        for snapshot in &snapshots {
            self.map(plan, names, snapshot, How::AtEnd)?;
        }
        self.sink.flush()
    }

    /// Says what was asked for and not done.
    pub(super) fn tell_dropped(&self) {
        if self.dropped > 0 {
            self.note(&format!(
                "LOST {} calls of system(): the script was ended before their programs ran",
                self.dropped
            ));
        }
    }

    /// That records were lost, where programs read it.
    pub(super) fn lost(&mut self, plan: &Plan, names: &ScriptNames, events: u64) -> Result<(), Failure> {
        if self.look.form == Form::Json && events > 0 {
            self.say(&Renderer::new(self.look.form, plan, names).lost(events))?;
        }
        self.sink.flush()
    }

    fn say(&mut self, message: &Message) -> Result<(), Failure> {
        if message.to == Output::Out {
            return self.sink.write(&message.bytes);
        }
        if message.to == Output::Error || self.look.warnings {
            // In the order in which the script said it.
            self.sink.pause()?;
            self.error(&message.bytes);
        }
        Ok(())
    }

    /// A line on standard error.
    pub(super) fn note(&self, text: &str) {
        self.error(format!("{}\n", visible(text.as_bytes())).as_bytes());
    }

    /// Lines on standard error.
    pub(super) fn error(&self, bytes: &[u8]) {
        use std::io::Write as _;
        let mut error = std::io::stderr().lock();
        // There is nowhere left to say that this cannot be said.
        let _nobody_listens = if self.error_is_terminal || !self.look.raw {
            error.write_all(safe_for_terminal(bytes).as_bytes())
        } else {
            error.write_all(bytes)
        };
    }
}

/// Messages of the compiler as lines; with what is said more of them, if `detail`.
pub(crate) fn diagnostics_text(text: &str, name: &str, diagnostics: &[Diagnostic], detail: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(render(text, name, diagnostic).trim_end());
        out.push('\n');
        if detail && !diagnostic.detail.is_empty() {
            out.push_str(diagnostic.detail.trim_end());
            out.push('\n');
        }
    }
    out
}
