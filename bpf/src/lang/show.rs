//! The checked script as text, one statement a line, with types where they are not plain: `--emit types`, and what tests
//! compare.

use std::fmt::{self, Display, Formatter, Write as _};

use bathyscope_plan::{Action, FormatPiece, MapPlan, Site, Space, Type};

use super::{
    check::describe,
    hir::{
        ArithmeticOp, CompareOp, Countable, MapRead, ScriptMapId, TypedExpr, TypedExprKind, TypedProbe, TypedScript,
        TypedStatement, TypedStatementKind, TypedUnaryOp,
    },
};

/// The most attach points of a probe that are shown.
const SHOWN_POINTS: usize = 4;

impl Display for TypedScript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, map) in self.maps.iter().enumerate() {
            writeln!(f, "map {index} {}", MapShown(map))?;
        }
        for (index, site) in self.sites.iter().enumerate() {
            writeln!(f, "site {index} {}", SiteShown(site))?;
        }
        for probe in &self.probes {
            Shower { script: self, probe }.probe(f)?;
        }
        Ok(())
    }
}

struct MapShown<'a>(&'a MapPlan);

impl Display for MapShown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let map = self.0;
        let key: Vec<String> = map.key.iter().map(describe).collect();
        let key = if key.is_empty() { String::new() } else { format!("[{}]", key.join(", ")) };
        write!(f, "{}{key} = {}: {:?}({})", map.name, value_text(&map.value), map.kind, map.max_entries)
    }
}

fn value_text(ty: &Type) -> String {
    match ty {
        Type::Aggregate(aggregation) => format!("{aggregation:?}").to_lowercase(),
        other => describe(other),
    }
}

struct SiteShown<'a>(&'a Site);

impl Display for SiteShown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let site = self.0;
        match &site.action {
            Action::Print { to, format } => write!(f, "print {to:?} {}", format_text(format))?,
            Action::Cat { format } => write!(f, "cat {}", format_text(format))?,
            Action::System { format } => write!(f, "system {}", format_text(format))?,
            other => write!(f, "{other:?}")?,
        }
        let fields: Vec<String> =
            site.fields.iter().map(|field| format!("{}: {}", field.name, describe(&field.ty))).collect();
        if fields.is_empty() { Ok(()) } else { write!(f, " ({})", fields.join(", ")) }
    }
}

fn format_text(format: &[FormatPiece]) -> String {
    let mut text = String::new();
    for piece in format {
        match piece {
            FormatPiece::Literal(bytes) => text.push_str(&bytes.escape_ascii().to_string()),
            FormatPiece::Field(it) => {
                text.push('%');
                text.extend(it.left.then_some('-'));
                text.extend(it.zeros.then_some('0'));
                if let Some(width) = it.width {
                    let _infallible = write!(text, "{width}");
                }
                if let Some(precision) = it.precision {
                    let _infallible = write!(text, ".{precision}");
                }
                text.push(it.letter);
                text.extend(it.raw);
            }
        }
    }
    format!("\"{text}\"")
}

struct Shower<'a> {
    script: &'a TypedScript,
    probe: &'a TypedProbe,
}

impl Shower<'_> {
    fn probe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.probe.points.iter().map(|it| it.name.as_str()).take(SHOWN_POINTS).collect();
        let more = self.probe.points.len().saturating_sub(SHOWN_POINTS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(f, "{}{more} ({:?})", names.join(", "), self.probe.context)?;
        for (index, local) in self.probe.locals.iter().enumerate() {
            writeln!(f, "  let {}: {}", self.local(index), describe(&local.ty))?;
        }
        if let Some(predicate) = &self.probe.predicate {
            writeln!(f, "  when {}", self.expr(predicate))?;
        }
        self.statements(f, &self.probe.body, 1)
    }

    fn statements(&self, f: &mut Formatter<'_>, statements: &[TypedStatement], depth: usize) -> fmt::Result {
        statements.iter().try_for_each(|statement| self.statement(f, statement, depth))
    }

    fn statement(&self, f: &mut Formatter<'_>, statement: &TypedStatement, depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        match &statement.kind {
            TypedStatementKind::Expression(it) => writeln!(f, "{pad}{}", self.expr(it)),
            TypedStatementKind::SetLocal { local, value } => {
                writeln!(f, "{pad}{} = {}", self.local(local.0 as usize), self.expr(value))
            }
            TypedStatementKind::SetMap { map, key, value } => {
                writeln!(f, "{pad}{} = {}", self.element(*map, key.as_ref()), self.expr(value))
            }
            TypedStatementKind::Aggregate { map, key, value } => {
                let value = value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                writeln!(f, "{pad}{} <- {value}", self.element(*map, key.as_ref()))
            }
            TypedStatementKind::Delete { map, key } => writeln!(f, "{pad}delete {}", self.element(*map, key.as_ref())),
            TypedStatementKind::Emit { site, arguments } => {
                writeln!(f, "{pad}emit {}({})", site.0, self.list(arguments))
            }
            TypedStatementKind::If { condition, then, otherwise } => {
                writeln!(f, "{pad}if {}", self.expr(condition))?;
                self.statements(f, then, depth + 1)?;
                if otherwise.is_empty() {
                    return Ok(());
                }
                writeln!(f, "{pad}else")?;
                self.statements(f, otherwise, depth + 1)
            }
            TypedStatementKind::ForRange { variable, first, end, body } => {
                let variable = variable.map_or_else(|| "_".to_owned(), |it| self.local(it.0 as usize));
                writeln!(f, "{pad}for {variable} in {}..{}", self.expr(first), self.expr(end))?;
                self.statements(f, body, depth + 1)
            }
            TypedStatementKind::ForMap { map, key, value, body } => {
                let value = value.map_or_else(|| "_".to_owned(), |it| self.local(it.0 as usize));
                writeln!(f, "{pad}for {}, {value} in {}", self.local(key.0 as usize), self.map(*map))?;
                self.statements(f, body, depth + 1)
            }
            TypedStatementKind::While { condition, body, limit } => {
                writeln!(f, "{pad}while {} (at most {limit})", self.expr(condition))?;
                self.statements(f, body, depth + 1)
            }
            TypedStatementKind::Break => writeln!(f, "{pad}break"),
            TypedStatementKind::Continue => writeln!(f, "{pad}continue"),
            TypedStatementKind::Return(value) => {
                writeln!(f, "{pad}return {}", value.as_ref().map(|value| self.expr(value)).unwrap_or_default())
            }
            TypedStatementKind::Block(statements) => {
                writeln!(f, "{pad}block")?;
                self.statements(f, statements, depth + 1)
            }
            TypedStatementKind::Signal { number, thread } => {
                writeln!(f, "{pad}signal {}{}", self.expr(number), if *thread { " to the thread" } else { "" })
            }
            TypedStatementKind::Override(value) => writeln!(f, "{pad}override {}", self.expr(value)),
            TypedStatementKind::WriteUser { address, value } => {
                writeln!(f, "{pad}write {} at {}", self.expr(value), self.expr(address))
            }
        }
    }

    fn local(&self, index: usize) -> String {
        match self.probe.locals.get(index) {
            Some(local) if local.name.starts_with('#') => format!("${index}"),
            Some(local) => format!("${}", local.name),
            None => format!("$?{index}"),
        }
    }

    fn map(&self, map: ScriptMapId) -> String {
        self.script.maps.get(map.0 as usize).map_or_else(|| format!("@?{}", map.0), |map| map.name.clone())
    }

    fn element(&self, map: ScriptMapId, key: Option<&TypedExpr>) -> String {
        let key = key.map(|key| format!("[{}]", self.expr(key))).unwrap_or_default();
        format!("{}{key}", self.map(map))
    }

    fn list(&self, parts: &[TypedExpr]) -> String {
        parts.iter().map(|part| self.expr(part)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &TypedExpr) -> String {
        let ty = describe(&expr.ty);
        match &expr.kind {
            TypedExprKind::Integer(value) => match &expr.ty {
                Type::Integer { .. } => format!("{value}"),
                _ => format!("{ty}({value})"),
            },
            TypedExprKind::Text(bytes) => format!("\"{}\"", bytes.escape_ascii()),
            TypedExprKind::Local(local) => self.local(local.0 as usize),
            TypedExprKind::Map { map, key, read } => {
                let element = self.element(*map, key.as_deref());
                if *read == MapRead::Aggregated { format!("all({element})") } else { element }
            }
            TypedExprKind::HasKey { map, key } => format!("has({})", self.element(*map, key.as_deref())),
            TypedExprKind::AtomicStep { map, key, by, gives_old } => {
                let element = self.element(*map, key.as_deref());
                if *gives_old { format!("({element} then += {by})") } else { format!("({element} += {by})") }
            }
            TypedExprKind::LocalStep { local, by, gives_old } => {
                let local = self.local(local.0 as usize);
                if *gives_old { format!("({local} then += {by})") } else { format!("({local} += {by})") }
            }
            TypedExprKind::Length(Countable::Map(map)) => format!("len({})", self.map(*map)),
            TypedExprKind::Length(Countable::Stack(stack)) => format!("len({})", self.expr(stack)),
            TypedExprKind::Context { offset } => format!("ctx+{offset}:{ty}"),
            TypedExprKind::ContextAddress { offset } => format!("&ctx+{offset}"),
            TypedExprKind::Register { offset } => format!("reg+{offset}"),
            TypedExprKind::StackArgument { index, space } => format!("{}stack[{index}]", space_text(*space)),
            TypedExprKind::UsdtArgument { index } => format!("usdt[{index}]:{ty}"),
            TypedExprKind::DynamicText { offset, relative } => {
                format!("{}[ctx+{offset}]:{ty}", if *relative { "rel_loc" } else { "data_loc" })
            }
            TypedExprKind::DynamicAddress { offset, .. } => format!("&data_loc[ctx+{offset}]"),
            TypedExprKind::Block(statements, value) => {
                let mut text = String::new();
                let shown = Statements { shower: self, statements };
                let _infallible = write!(text, "{shown}");
                let lines: Vec<&str> = text.lines().map(str::trim).collect();
                format!("{{ {}; {} }}", lines.join("; "), self.expr(value))
            }
            other => self.memory(other, &ty),
        }
    }

    fn memory(&self, kind: &TypedExprKind, ty: &str) -> String {
        match kind {
            TypedExprKind::Read { address, offset, space, bits } => {
                let offset = if *offset == 0 { String::new() } else { format!(" + {offset}") };
                format!("{}*({}{offset}){}:{ty}", space_text(*space), self.expr(address), bits_text(*bits))
            }
            TypedExprKind::Part { of, offset, bits } => format!("{}.{offset}{}:{ty}", self.expr(of), bits_text(*bits)),
            TypedExprKind::Element { of, index } => format!("{}[{}]", self.expr(of), self.expr(index)),
            TypedExprKind::ReadText { address, space, length } => {
                let length = length.as_ref().map(|it| format!(", {}", self.expr(it))).unwrap_or_default();
                format!("{}str({}{length}):{ty}", space_text(*space), self.expr(address))
            }
            TypedExprKind::ReadBuffer { address, space, length } => {
                let length = length.as_ref().map(|it| format!(", {}", self.expr(it))).unwrap_or_default();
                format!("{}buf({}{length}):{ty}", space_text(*space), self.expr(address))
            }
            TypedExprKind::BufferOf { of, length } => {
                let length = length.as_ref().map(|it| format!(", {}", self.expr(it))).unwrap_or_default();
                format!("buf({}{length}):{ty}", self.expr(of))
            }
            TypedExprKind::Stack => ty.to_owned(),
            TypedExprKind::UnwoundStack => format!("dw_{ty}"),
            TypedExprKind::Builtin(builtin) => format!("{builtin:?}"),
            TypedExprKind::WithProcess { address } => format!("process({})", self.expr(address)),
            TypedExprKind::Convert(of) => format!("{ty}({})", self.expr(of)),
            TypedExprKind::Reinterpret(of) => format!("{ty} of ({})", self.expr(of)),
            TypedExprKind::AddressOf(of) => format!("&{}", self.expr(of)),
            TypedExprKind::ByteSwap(of) => format!("bswap({})", self.expr(of)),
            TypedExprKind::SocketCookie { address } => format!("socket_cookie({})", self.expr(address)),
            TypedExprKind::Path { address } => format!("path({})", self.expr(address)),
            TypedExprKind::Inet { family, address } => {
                let family = family.as_ref().map(|it| format!("{}, ", self.expr(it))).unwrap_or_default();
                format!("inet({family}{})", self.expr(address))
            }
            TypedExprKind::PerCpuAddress { address, cpu } => {
                let cpu = cpu.as_ref().map(|it| format!(", {}", self.expr(it))).unwrap_or_default();
                format!("percpu({}{cpu})", self.expr(address))
            }
            TypedExprKind::Tuple(parts) => format!("({})", self.list(parts)),
            other => self.operation(other),
        }
    }

    fn operation(&self, kind: &TypedExprKind) -> String {
        match kind {
            TypedExprKind::Unary { op, of } => {
                format!("{}{}", if *op == TypedUnaryOp::Negate { "-" } else { "~" }, self.expr(of))
            }
            TypedExprKind::Binary { op, left, right } => {
                format!("({} {} {})", self.expr(left), arithmetic(*op), self.expr(right))
            }
            TypedExprKind::Compare { op, left, right } => {
                let sign = if matches!(left.ty, Type::Integer { signed: true, .. }) { "" } else { "u" };
                let both = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                let sign = if both { "" } else { sign };
                format!("({} {sign}{} {})", self.expr(left), comparison(*op), self.expr(right))
            }
            TypedExprKind::Same { left, right, most } => {
                let most = most.map(|it| format!(", {it}")).unwrap_or_default();
                format!("same({}, {}{most})", self.expr(left), self.expr(right))
            }
            TypedExprKind::Difference { left, right, most, text } => {
                let name = if *text { "strncmp" } else { "memcmp" };
                format!("{name}({}, {}, {most})", self.expr(left), self.expr(right))
            }
            TypedExprKind::Find { text, needle } => format!("find({}, {})", self.expr(text), self.expr(needle)),
            TypedExprKind::TextLength(of) => format!("strlen({})", self.expr(of)),
            TypedExprKind::Concat { left, right } => format!("concat({}, {})", self.expr(left), self.expr(right)),
            TypedExprKind::Not(of) => format!("!{}", self.expr(of)),
            TypedExprKind::And(left, right) => format!("({} && {})", self.expr(left), self.expr(right)),
            TypedExprKind::Or(left, right) => format!("({} || {})", self.expr(left), self.expr(right)),
            TypedExprKind::Select { condition, then, otherwise } => {
                format!("({} ? {} : {})", self.expr(condition), self.expr(then), self.expr(otherwise))
            }
            other => format!("{other:?}"),
        }
    }
}

/// Statements as one text.
struct Statements<'a> {
    shower: &'a Shower<'a>,
    statements: &'a [TypedStatement],
}

impl Display for Statements<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.shower.statements(f, self.statements, 0)
    }
}

fn space_text(space: Space) -> &'static str {
    if space == Space::User { "user " } else { "" }
}

fn bits_text(bits: Option<(u8, u8)>) -> String {
    bits.map(|(first, count)| format!("<{first},{count}>")).unwrap_or_default()
}

fn arithmetic(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Modulo => "%",
        ArithmeticOp::BitAnd => "&",
        ArithmeticOp::BitOr => "|",
        ArithmeticOp::BitXor => "^",
        ArithmeticOp::ShiftLeft => "<<",
        ArithmeticOp::ShiftRight => ">>",
    }
}

fn comparison(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "==",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}
