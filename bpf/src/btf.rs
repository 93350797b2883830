//! Type information of programs: the functions, which the kernel wants to know of as soon as one calls back another, and
//! which instruction comes from which line of the script, which makes the verifier's log readable.
//!
//! Most functions take and return plain numbers as far as this tells: the kernel checks what they do at each call, not what
//! is said here. Those that it verifies by themselves are global, and take the address of a structure first, whose size is
//! what they may touch.

use std::collections::HashMap;

use crate::{Code, ir::Source};

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
const HEADER_BYTES: u32 = 24;
const KIND_INT: u32 = 1;
const KIND_PTR: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const STATIC: u32 = 0;
const GLOBAL: u32 = 1;
const SIGNED: u32 = 1;
/// Types that [`Types::new`] adds, by their numbers: what functions return, numbers, and the address of the context.
const RESULT_TYPE: u32 = 1;
const NUMBER_TYPE: u32 = 2;
const CONTEXT_TYPE: u32 = 3;
/// Names of parameters; the kernel wants some.
const PARAMETERS: [&str; 5] = ["a", "b", "c", "d", "e"];
/// The longest part of a line of the script that is kept.
const MAX_LINE_BYTES: usize = 200;
/// Lines and columns share 32 bits.
const MAX_COLUMN: u32 = 1023;

/// A function of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// The index of its first instruction.
    pub instruction: u32,
    /// Its type.
    pub type_id: u32,
}

/// Where an instruction, and those that follow it, come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// The index of the instruction.
    pub instruction: u32,
    /// The file's name, in the strings.
    pub file: u32,
    /// The text of the line, in the strings.
    pub text: u32,
    /// The line shifted left by 10, and the column.
    pub line_column: u32,
}

/// What belongs to one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramTypes {
    /// Its functions, the program itself first.
    pub functions: Vec<FunctionInfo>,
    /// Its lines; empty if it has no source.
    pub lines: Vec<LineInfo>,
}

/// Type information of the programs of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// What `BPF_BTF_LOAD` takes.
    pub btf: Vec<u8>,
    /// By program: what `BPF_PROG_LOAD` takes as `func_info` and `line_info`, in the order of the kernel's fields.
    pub programs: Vec<ProgramTypes>,
}

#[derive(Debug, Default)]
pub(crate) struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, u32>,
}

impl Strings {
    pub(crate) fn add(&mut self, text: &str) -> u32 {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
        if text.is_empty() {
            return 0;
        }
        if let Some(offset) = self.known.get(&text) {
            return *offset;
        }
        let offset = u32::try_from(self.bytes.len()).unwrap_or(0);
        self.bytes.extend_from_slice(&text);
        self.bytes.push(0);
        self.known.insert(text, offset);
        offset
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FirstParameter {
    Number,
    Context,
    /// The address of so many bytes.
    Memory(u32),
}

#[derive(Default)]
pub(crate) struct Types {
    words: Vec<u32>,
    count: u32,
    pub(crate) strings: Strings,
    /// By number of parameters, and what the first is.
    prototypes: HashMap<(usize, FirstParameter), u32>,
}

impl Types {
    fn add(&mut self, name: &str, info: u32, size_or_type: u32, more: &[u32]) -> u32 {
        let name = self.strings.add(name);
        self.words.extend([name, info, size_or_type]);
        self.words.extend_from_slice(more);
        self.count += 1;
        self.count
    }

    pub(crate) fn new() -> Self {
        let mut types = Self::default();
        types.strings.add("");
        types.add("int", KIND_INT << 24, 4, &[SIGNED << 24 | 32]);
        types.add("u64", KIND_INT << 24, 8, &[64]);
        types.add("", KIND_PTR << 24, 0, &[]);
        types
    }

    fn prototype(&mut self, parameters: usize, first: FirstParameter) -> u32 {
        if let Some(known) = self.prototypes.get(&(parameters, first)) {
            return *known;
        }
        let mut kind = match first {
            FirstParameter::Number => NUMBER_TYPE,
            FirstParameter::Context => CONTEXT_TYPE,
            FirstParameter::Memory(bytes) => {
                let structure = self.add("memory", KIND_STRUCT << 24, bytes, &[]);
                self.add("", KIND_PTR << 24, structure, &[])
            }
        };
        let mut list = Vec::new();
        for name in PARAMETERS.iter().take(parameters) {
            list.extend([self.strings.add(name), kind]);
            kind = NUMBER_TYPE;
        }
        let info = KIND_FUNC_PROTO << 24 | u32::try_from(parameters).unwrap_or(0);
        let id = self.add("", info, RESULT_TYPE, &list);
        self.prototypes.insert((parameters, first), id);
        id
    }

    fn function(&mut self, name: &str, parameters: usize, first: FirstParameter) -> u32 {
        let prototype = self.prototype(parameters, first);
        // A name may not begin with a digit here.
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_owned() };
        let linkage = if first == FirstParameter::Number { STATIC } else { GLOBAL };
        self.add(&name, KIND_FUNC << 24 | linkage, prototype, &[])
    }

    pub(crate) fn program(&mut self, code: &Code) -> ProgramTypes {
        let mut functions = Vec::new();
        for (index, function) in code.functions.iter().enumerate() {
            let first = match function.memory_bytes {
                _ if index == 0 => FirstParameter::Context,
                Some(bytes) => FirstParameter::Memory(bytes),
                None => FirstParameter::Number,
            };
            let type_id = self.function(&function.name, function.parameters, first);
            functions.push(FunctionInfo { instruction: u32::try_from(function.start).unwrap_or(0), type_id });
        }
        let lines = code.source.as_ref().map(|source| self.lines(code, source)).unwrap_or_default();
        ProgramTypes { functions, lines }
    }

    fn lines(&mut self, code: &Code, source: &Source) -> Vec<LineInfo> {
        let texts: Vec<&str> = source.text.lines().collect();
        let file = self.strings.add(&source.name);
        let mut lines = Vec::<LineInfo>::new();
        let mut positions = code.positions.iter().copied().peekable();
        for function in &code.functions {
            // The kernel wants each function to begin with one.
            let mut next = (function.start, positions.peek().map(|(_, position)| *position).unwrap_or_default());
            if positions.peek().is_some_and(|(at, _)| *at == function.start) {
                positions.next();
            }
            loop {
                let (at, position) = next;
                let index = usize::try_from(position.line).unwrap_or(0).wrapping_sub(1);
                let text = texts.get(index).copied().unwrap_or_default().trim();
                let end = (0..=text.len().min(MAX_LINE_BYTES)).rev().find(|end| text.is_char_boundary(*end));
                let text = self.strings.add(text.get(..end.unwrap_or(0)).unwrap_or_default());
                let line_column = position.line << 10 | position.column.min(MAX_COLUMN);
                let line = LineInfo { instruction: u32::try_from(at).unwrap_or(0), file, text, line_column };
                if at < function.end && lines.last().is_none_or(|last| last.instruction < line.instruction) {
                    lines.push(line);
                }
                match positions.next_if(|(at, _)| *at < function.end) {
                    Some(following) => next = following,
                    None => break,
                }
            }
        }
        lines
    }

    /// The `.BTF` section.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let types: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(0);
        let mut all = Vec::new();
        all.extend(MAGIC.to_le_bytes());
        all.extend([VERSION, 0]);
        let header = [HEADER_BYTES, 0, length(&types), length(&types), length(&self.strings.bytes)];
        all.extend(header.into_iter().flat_map(u32::to_le_bytes));
        all.extend(types);
        all.extend_from_slice(&self.strings.bytes);
        all
    }
}

/// Type information of programs that are loaded without an object file, each by itself with [`Code::instructions`] after
/// the descriptors of its maps were put in.
pub fn type_info(programs: &[&Code]) -> TypeInfo {
    let mut types = Types::new();
    let programs = programs.iter().map(|code| types.program(code)).collect();
    TypeInfo { btf: types.bytes(), programs }
}

/// What is known of one section of an object: records of functions and of lines, whose first word is the offset of the
/// instruction in the section.
#[derive(Debug, Default)]
pub(crate) struct SectionInfo {
    pub name: u32,
    pub functions: Vec<[u32; 2]>,
    pub lines: Vec<[u32; 4]>,
}

/// The `.BTF.ext` section.
pub(crate) fn extension(sections: &[SectionInfo]) -> Vec<u8> {
    let count = |length: usize| u32::try_from(length).unwrap_or(0);
    let (mut functions, mut lines) = (vec![8_u32], vec![16_u32]);
    for section in sections {
        if !section.functions.is_empty() {
            functions.extend([section.name, count(section.functions.len())]);
            functions.extend(section.functions.iter().flatten());
        }
        if !section.lines.is_empty() {
            lines.extend([section.name, count(section.lines.len())]);
            lines.extend(section.lines.iter().flatten());
        }
    }
    let (function_bytes, line_bytes) = (count(functions.len() * 4), count(lines.len() * 4));
    let mut all = Vec::new();
    all.extend(MAGIC.to_le_bytes());
    all.extend([VERSION, 0]);
    let header = [HEADER_BYTES, 0, function_bytes, function_bytes, line_bytes];
    all.extend(header.into_iter().chain(functions).chain(lines).flat_map(u32::to_le_bytes));
    all
}
