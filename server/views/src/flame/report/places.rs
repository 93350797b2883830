//! The functions of frames with the files that they are in and their lines of source.

use std::collections::HashMap;

use bathyscope_capture::{FrameId, MappingKind, SymbolLine};

use crate::{Dictionaries, answers::NodeKind, flame::names::Names, hash::IdMap, needle::shown};

/// A function at a frame. Names, modules and lines are numbers of [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: u32,
    pub(super) kind: NodeKind,
    pub(super) module: u16,
    pub(super) is_kernel: bool,
    pub(super) line: u32,
}

/// Frames that were looked up so far.
pub(super) struct Places<'a> {
    dictionaries: &'a Dictionaries,
    names: Names<'a>,
    wants_lines: bool,
    lines: Vec<String>,
    by_line: HashMap<String, u32>,
    has_lines: bool,
    places: Vec<Place>,
    by_frame: IdMap<FrameId, (u32, u32)>,
}

impl<'a> Places<'a> {
    pub(super) fn new(dictionaries: &'a Dictionaries, wants_lines: bool) -> Self {
        let (by_line, places, by_frame) = Default::default();
        let (names, lines) = (Names::new(dictionaries), vec!["[unknown]".to_owned()]);
        Self { dictionaries, names, wants_lines, lines, by_line, has_lines: false, places, by_frame }
    }

    /// Adds the places of a stack, innermost first; one that says so if there are none.
    pub(super) fn add_stack(&mut self, frames: &[FrameId], path: &mut Vec<Place>) {
        for frame in frames {
            let (start, end) = match self.by_frame.get(frame) {
                Some(known) => *known,
                None => self.look_up(*frame),
            };
            path.extend_from_slice(self.places.get(start as usize..end as usize).unwrap_or(&[]));
        }
        if path.is_empty() {
            path.push(self.named("[no stack]"));
        }
    }

    /// What stands for stacks that are not told apart.
    pub(super) fn other_stacks(&mut self) -> Place {
        self.named("[other stacks]")
    }

    fn named(&mut self, text: &str) -> Place {
        let kind = NodeKind::Unresolved;
        Place { name: self.names.index(text, kind), kind, module: 0, is_kernel: false, line: 0 }
    }

    fn look_up(&mut self, frame: FrameId) -> (u32, u32) {
        let mapping = self.dictionaries.frame(frame).and_then(|place| self.dictionaries.mapping(place.mapping));
        let is_kernel = mapping.is_some_and(|mapping| mapping.kind == MappingKind::Kernel);
        let names = self.names.frame(frame).to_vec();
        let start = self.places.len() as u32;
        for (at, (name, kind, module)) in names.iter().enumerate() {
            let line = if self.wants_lines { self.line_of(frame, names.len() - 1 - at, *name) } else { 0 };
            self.places.push(Place { name: *name, kind: *kind, module: *module, is_kernel, line });
        }
        let range = (start, self.places.len() as u32);
        self.by_frame.insert(frame, range);
        range
    }

    /// The line of the function that is so many from the outermost of a frame; where it is not known, function and offset.
    fn line_of(&mut self, frame: FrameId, from_outermost: usize, name: u32) -> u32 {
        let symbol = self.dictionaries.symbol(frame);
        let lines = symbol.map_or(&[][..], |symbol| symbol.lines.as_slice()).iter().enumerate().rev();
        // Lines of inlined functions without a name make no frame.
        let mut named = lines.filter(|(back, line)| {
            let is_own = symbol.is_some_and(|symbol| back + 1 == symbol.lines.len());
            is_own || !line.function.is_empty()
        });
        let known = named.nth(from_outermost).map(|(_, line)| line).filter(|line| !line.file.is_empty());
        self.has_lines |= known.is_some();
        let text = known.map_or_else(
            || match symbol.filter(|symbol| !symbol.function.is_empty()) {
                Some(symbol) => format!("{}+{:#x}", self.names.text(name), symbol.offset),
                None => self.names.text(name).to_owned(),
            },
            line_text,
        );
        if let Some(number) = self.by_line.get(&text) {
            return *number;
        }
        let number = self.lines.len() as u32;
        self.lines.push(text.clone());
        self.by_line.insert(text, number);
        number
    }

    /// Whether a place has a line of source.
    pub(super) fn has_lines(&self) -> bool {
        self.has_lines
    }

    pub(super) fn line(&self, number: u32) -> &str {
        self.lines.get(number as usize).map_or("", String::as_str)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.text(number)
    }

    pub(super) fn module(&self, number: u16) -> &str {
        self.names.module_text(number)
    }
}

fn line_text(line: &SymbolLine) -> String {
    format!("{}:{}", shown(line.file.as_bytes()), line.line)
}
