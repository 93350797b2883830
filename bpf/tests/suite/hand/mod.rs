//! Checked scripts written by hand, and the machine in which they run.
#![allow(dead_code, clippy::indexing_slicing, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

pub(crate) mod load;

use bathyscope_bpf::{
    lang::{Compiled, LowerOptions, ast, compile_checked, hir::*},
    machine::Machine,
};
use bathyscope_decode::script::{Decoder, Record, Value};
use bathyscope_plan::{
    Action, Aggregation, Architecture, AttachPoint, Conversion, FormatPiece, MapPlan, MapType, Output, Site, SiteField,
    Span, Type, layout,
};

pub(crate) fn span() -> Span {
    Span { start: 0, end: 1 }
}

pub(crate) fn expr(kind: TypedExprKind, ty: Type) -> TypedExpr {
    TypedExpr { kind, ty, span: span() }
}

pub(crate) fn statement(kind: TypedStatementKind) -> TypedStatement {
    TypedStatement { kind, span: span() }
}

pub(crate) fn integer(bytes: u8, signed: bool) -> Type {
    Type::Integer { bytes, signed }
}

pub(crate) fn int(value: i64) -> TypedExpr {
    expr(TypedExprKind::Integer(value), Type::I64)
}

pub(crate) fn number(value: i64, ty: &Type) -> TypedExpr {
    expr(TypedExprKind::Integer(value), ty.clone())
}

pub(crate) fn text(value: &str) -> TypedExpr {
    let bytes = u32::try_from(value.len()).unwrap() + 1;
    expr(TypedExprKind::Text(value.as_bytes().to_vec()), Type::Text { bytes })
}

pub(crate) fn builtin(it: Builtin) -> TypedExpr {
    let ty = match it {
        Builtin::Comm => Type::Text { bytes: 16 },
        Builtin::Pid | Builtin::Tid => integer(4, false),
        _ => Type::U64,
    };
    expr(TypedExprKind::Builtin(it), ty)
}

pub(crate) fn field(offset: u32, ty: &Type) -> TypedExpr {
    expr(TypedExprKind::Context { offset }, ty.clone())
}

pub(crate) fn binary(op: ArithmeticOp, left: TypedExpr, right: TypedExpr) -> TypedExpr {
    let ty = left.ty.clone();
    expr(TypedExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, ty)
}

pub(crate) fn compare(op: CompareOp, left: TypedExpr, right: TypedExpr) -> TypedExpr {
    expr(TypedExprKind::Compare { op, left: Box::new(left), right: Box::new(right) }, Type::Bool)
}

pub(crate) fn same(left: TypedExpr, right: TypedExpr) -> TypedExpr {
    expr(TypedExprKind::Same { left: Box::new(left), right: Box::new(right), most: None }, Type::Bool)
}

pub(crate) fn user_text(address: TypedExpr, bytes: u32) -> TypedExpr {
    let space = bathyscope_plan::Space::User;
    expr(TypedExprKind::ReadText { address: Box::new(address), space, length: None }, Type::Text { bytes })
}

/// A script under construction: one tracepoint.
#[derive(Default)]
pub(crate) struct Hand {
    pub(crate) script: TypedScript,
    pub(crate) locals: Vec<Local>,
    pub(crate) predicate: Option<TypedExpr>,
    pub(crate) body: Vec<TypedStatement>,
}

impl Hand {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn local(&mut self, ty: &Type) -> LocalId {
        self.locals.push(Local { name: format!("v{}", self.locals.len()), ty: ty.clone() });
        LocalId(u32::try_from(self.locals.len()).unwrap() - 1)
    }

    pub(crate) fn get(&self, local: LocalId) -> TypedExpr {
        expr(TypedExprKind::Local(local), self.locals[local.0 as usize].ty.clone())
    }

    pub(crate) fn set(&mut self, local: LocalId, value: TypedExpr) {
        self.push(TypedStatementKind::SetLocal { local, value });
    }

    pub(crate) fn push(&mut self, kind: TypedStatementKind) {
        self.body.push(statement(kind));
    }

    pub(crate) fn map(&mut self, key: Vec<Type>, value: Type) -> ScriptMapId {
        let index = self.script.maps.len();
        let aggregates = matches!(value, Type::Aggregate(_));
        let sparse = matches!(&value, Type::Aggregate(aggregation) if aggregation.is_sparse());
        let (kind, mut key_bytes, max_entries) = match (key.is_empty() && !sparse, aggregates) {
            (true, true) => (MapType::PerCpuArray, 4, 1),
            (true, false) => (MapType::Array, 4, 1),
            (false, true) => (MapType::PerCpuHash, layout(key.iter()).1.next_multiple_of(8), 4096),
            (false, false) => (MapType::Hash, layout(key.iter()).1.next_multiple_of(8), 4096),
        };
        if sparse {
            key_bytes += 8;
        }
        let single = matches!(kind, MapType::Array | MapType::PerCpuArray);
        let value_bytes = value.bytes().next_multiple_of(8) + if single { 8 } else { 0 };
        self.script.maps.push(MapPlan {
            name: format!("@m{index}"),
            object_name: format!("m{index}"),
            kind,
            key,
            value,
            key_bytes,
            value_bytes,
            max_entries,
            start: 0,
            end: 1,
        });
        ScriptMapId(u32::try_from(index).unwrap())
    }

    pub(crate) fn aggregate(&mut self, map: ScriptMapId, key: Option<TypedExpr>, value: Option<TypedExpr>) {
        self.push(TypedStatementKind::Aggregate { map, key, value });
    }

    pub(crate) fn read(&self, map: ScriptMapId, key: Option<TypedExpr>) -> TypedExpr {
        let plan = &self.script.maps[map.0 as usize];
        let (read, ty) = match &plan.value {
            Type::Aggregate(Aggregation::Count) => (MapRead::Aggregated, Type::U64),
            Type::Aggregate(_) => (MapRead::Aggregated, Type::I64),
            other => (MapRead::Value, other.clone()),
        };
        expr(TypedExprKind::Map { map, key: key.map(Box::new), read }, ty)
    }

    pub(crate) fn site(&mut self, arguments: &[TypedExpr]) -> SiteId {
        let fields = arguments.iter().zip(0..);
        let fields = fields.map(|(expr, n)| SiteField { name: format!("f{n}"), ty: expr.ty.clone(), offset: 0 });
        let conversion = Conversion { letter: 'd', ..Conversion::default() };
        let format = arguments.iter().map(|_| FormatPiece::Field(conversion)).collect();
        self.script.sites.push(Site {
            action: Action::Print { to: Output::Out, format },
            fields: fields.collect(),
            fixed_bytes: 0,
            max_bytes: 0,
            start: 0,
            end: 1,
            calls: Vec::new(),
        });
        SiteId(u32::try_from(self.script.sites.len()).unwrap() - 1)
    }

    pub(crate) fn emit(&mut self, arguments: Vec<TypedExpr>) {
        let site = self.site(&arguments);
        self.push(TypedStatementKind::Emit { site, arguments });
    }

    pub(crate) fn finish(mut self) -> TypedScript {
        let point = AttachPoint::Tracepoint { system: "made".to_owned(), name: "event".to_owned() };
        self.script.probes.push(TypedProbe {
            points: vec![ProbePoint { name: "tracepoint:made:event".to_owned(), point }],
            context: Context::Tracepoint,
            locals: self.locals,
            predicate: self.predicate,
            body: self.body,
            span: span(),
        });
        self.script
    }

    pub(crate) fn compile(self) -> Compiled {
        let options = LowerOptions { possible_cpus: 4, ..LowerOptions::new("made", Architecture::X86_64) };
        compiled(self.finish(), &options)
    }
}

pub(crate) fn compiled(script: TypedScript, options: &LowerOptions) -> Compiled {
    let compiled = compile_checked(ast::Script::default(), script, options)
        .unwrap_or_else(|diagnostics| panic!("{diagnostics:#?}"));
    // Where there are the rights, the kernel must accept all that the machine runs.
    if load::ready()
        && let Err(refusal) = load::load(&compiled)
    {
        panic!("the kernel refuses {refusal}");
    }
    compiled
}

/// A machine that has run nothing yet.
pub(crate) fn machine() -> Machine {
    let mut machine = Machine::new(4);
    machine.world.tgid = 77;
    machine.world.tid = 78;
    machine.world.comm = *b"made\0\0\0\0\0\0\0\0\0\0\0\0";
    machine.world.time_ns = 1_000_000;
    machine
}

/// The 8 hidden bytes of a record and then these words.
pub(crate) fn context(words: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes
}

pub(crate) fn run(machine: &mut Machine, compiled: &Compiled, words: &[u64]) -> u64 {
    machine.run(&compiled.codes[0], &context(words)).unwrap_or_else(|trap| {
        panic!("{trap}\n{}", bathyscope_bpf::disassemble(&compiled.codes[0]));
    })
}

pub(crate) fn records(machine: &mut Machine, compiled: &Compiled) -> Vec<Record> {
    let decoder = Decoder::new(&compiled.plan);
    let records = machine.take_records("ring");
    records.iter().map(|record| decoder.record(record).unwrap()).collect()
}

/// The values of the only record that one run leaves.
pub(crate) fn values(compiled: &Compiled, words: &[u64]) -> Vec<Value> {
    values_in(&mut machine(), compiled, words)
}

pub(crate) fn values_in(machine: &mut Machine, compiled: &Compiled, words: &[u64]) -> Vec<Value> {
    run(machine, compiled, words);
    let mut records = records(machine, compiled);
    assert_eq!(records.len(), 1);
    records.remove(0).values
}

/// runs, filtered, ring_full, map_full, helper_failed, stack_failed, nested
pub(crate) fn counters(machine: &Machine) -> Vec<u64> {
    let entries = machine.map("counters").unwrap();
    let mut sums = vec![0; 7];
    for cpu in 0..4 {
        let Some(value) = entries.value(&[0; 4], cpu) else { continue };
        for (sum, word) in sums.iter_mut().zip(value.chunks_exact(8)) {
            *sum += u64::from_le_bytes(word.try_into().unwrap());
        }
    }
    sums
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}
