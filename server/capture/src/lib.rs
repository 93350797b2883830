//! The data model of a capture: what was asked for, what was recorded, and what was lost.
//!
//! Every other room speaks in these types. A capture is a set of *streams* (rows of one schema from one probe, ordered
//! by monotonic time), the dictionaries that the rows refer to (strings, stacks, frames, mappings, processes), the
//! facts of the host, and the *ledger* that accounts for every event that was emitted.
//!
//! Constraints: no I/O, no clock, no environment, no SQL, no HTTP; decoding never panics and has a limit for every size
//! that it reads. Text that came from events is bytes until somebody renders it. It must not know how captures are
//! made (`agent`), kept (`store`) or shown (`views`, `web`).
#![forbid(unsafe_code)]

mod amount;
mod append;
mod calls;
mod cell;
mod chunk;
mod code;
mod codec;
mod columns;
mod cron;
mod cut;
mod firing;
mod host;
mod id;
mod id_map;
mod index;
mod layout;
mod ledger;
mod lists;
mod note;
mod packed;
mod predicate;
mod program_data;
mod reader;
mod schema;
mod script;
mod spec;
mod stacks;
mod states;
mod text;
mod tracks;

pub use amount::{Amount, AmountError, AmountKind, ColumnUnit, mebibytes, whole_seconds};
pub use append::{Append, NewString, OutputLine, OutputStream, ProcessChange, ProcessChangeKind};
pub use calls::{CALL_HEADER_BYTES, CallFlags, CallPlace};
pub use cell::{Cell, MAX_EXACT_NUMBER, Row, ShownCell};
pub use chunk::{ColumnStats, EncodedChunk, MAX_CHUNK_BYTES, MAX_CHUNK_COLUMNS, decode_chunk, encode_chunk};
pub use code::{CodeLine, CodeLines, CodeMissing, FunctionCode, MAX_CODE_BYTES, MAX_CODES, Machine};
pub use codec::MAX_CHUNK_ROWS;
pub use columns::{Batch, ColumnData};
pub use cron::{CronError, CronTime};
pub use cut::{CUT_MARK, cut_text};
pub use firing::{Firing, FiringKind, MAX_FIRING_TEXT_BYTES};
pub use host::HostFacts;
pub use id::{CaptureId, ParseIdError};
pub use id_map::IdMap;
pub use index::{
    CallLevel, CounterBin, Grouping, IndexBin, IndexBlock, IndexBuilder, IndexDirectory, IndexForest, IndexNode,
    IndexPiece, IndexTrack, MAX_INDEX_BYTES, Measure, TopNames, counter_key, counter_of, index_columns, leaf_blocks,
};
pub use layout::{ColumnEncoding, ColumnLayout};
pub use ledger::{Ledger, Loss, LossStage, Reading, Severity, StreamTotals};
pub use note::{
    MAX_NOTE_BYTES, MAX_NOTE_NAME_BYTES, MAX_NOTE_TRACK_BYTES, MAX_NOTE_VIEW_BYTES, NOTE_COLOURS, NoteAnchor,
    NoteContent, NoteError, NoteId, ParseNoteIdError, hidden_character,
};
pub use packed::Packed;
pub use predicate::text as predicate_text;
pub use predicate::{
    CompareOp, Literal, MAX_PREDICATE_BYTES, MAX_PREDICATE_DEPTH, Place, Predicate, PredicateError, TextPattern, Value,
};
pub use program_data::{
    DataMember, DataType, IntegerMeaning, MAX_DATA_TYPES, ProgramData, ProgramVariable, VariablePiece, VariablePlace,
};
pub use reader::ChunkError;
pub use schema::{
    Column, ColumnType, Derivation, Display, KernelFormat, RowKind, RowMeaning, SliceTime, StreamKind, StreamSchema,
    column_name_of_field,
};
pub use script::{ScriptProbe, ScriptRecord};
pub use spec::*;
pub use stacks::{
    Frame, FrameId, Mapping, MappingId, MappingKind, Stack, StackDictionary, StackId, Symbol, SymbolLine,
};
pub use states::{
    MAX_BLOCKED_FRAMES, MAX_STATE_FRAMES, STATE_RECORD_BYTES, StateFlags, StateKind, StatePlace, SwitchSides, TaskBits,
};
pub use text::{StringDictionary, StringId, shown, visible};
pub use tracks::{
    BuiltPage, ColumnGrid, ColumnSum, DRAWN_LEVEL, DrawnDecoder, DrawnPage, DrawnPiece, FoundRow, MAX_LANES,
    MAX_STREAM_TRACKS, MAX_TRACK_DIRECTORY_BYTES, MAX_TRACK_LEVELS, MAX_TRACK_NAMES, MAX_TRACK_PAGE_BYTES, NameTotals,
    PAGE_COLUMNS, PIECE_NAMES, SHARE_STEPS, TrackColumns, TrackDirectory, TrackEntry, TrackIndexBuilder, TrackInfo,
    TrackKind, TrackName, TrackNameId, TrackPage, TrackPageDecoder, TrackPages, TrackPiece, TrackRow, TrackRule,
    TrackSummary, drawn_number, packed_shares, row_at, row_number, row_of_name, rows_code, track_totals, walk_track,
};
