//! `args`, `argN`, `retval`, `ctx` and registers, as the attach points have them.

use std::sync::Arc;

use bathyscope_catalog::{EventField, EventFormat, FieldKind};
use bathyscope_plan::{Pointee, Space, Span, Type};

use super::{
    Checked, Failed,
    body::BodyChecker,
    context::{
        Args, MAX_ARGUMENTS, PointKind, Returned, Word, argument_register, register, registers, return_register,
    },
    points::SHOWN_NAMES,
    values::CheckedOperand,
    variables::ProgramVariables,
};
use crate::lang::{
    ast::Name,
    hir::{TypedExpr, TypedExprKind},
};

impl BodyChecker<'_, '_> {
    /// `args.name`.
    pub(super) fn argument(&mut self, name: &Name, span: Span) -> Checked<CheckedOperand> {
        let shape = self.shape;
        match &shape.args {
            Args::Unknown => Err(Failed),
            Args::None(instead) => self.no_args(span, &instead.clone()),
            Args::Usdt(_) => self.no_args(span, "use `arg0`, `arg1`, …"),
            Args::Program(variables) => match variables.find(&name.text).cloned() {
                Some(found) => self.program_variable(&found, span),
                None => {
                    let (variables, point) = (variables.clone(), shape.point.clone());
                    self.no_program_variable(name, &point, &variables)
                }
            },
            Args::Format { format, name: point, syscall } => {
                let (format, syscall) = (Arc::clone(format), *syscall);
                match format.field(&name.text) {
                    Some(field) => self.field(field, syscall, span).map(CheckedOperand::Value),
                    None => {
                        let names = || format.fields.iter().map(|field| field.name.as_str()).collect();
                        self.no_argument(name, point, names)
                    }
                }
            }
            Args::Words { .. } if shape.kind == PointKind::Iter => self.no_args(span, "use `ctx`: `ctx.task`"),
            Args::Words { name: point, words } => match words.iter().find(|word| word.name == name.text) {
                Some(word) => Ok(CheckedOperand::Value(self.word(&word.clone(), span))),
                None => {
                    let names = || words.iter().map(|word| word.name.as_str()).collect();
                    self.no_argument(name, point, names)
                }
            },
        }
    }

    fn no_args<T>(&mut self, span: Span, instead: &str) -> Checked<T> {
        let message = format!("{} probes have no `args`", self.shape.kind.name());
        self.fail(span, message, instead)
    }

    fn no_argument<'n, T>(&mut self, name: &Name, point: &str, names: impl FnOnce() -> Vec<&'n str>) -> Checked<T> {
        let message = format!("no field `{}` in args of {point}", name.text);
        let hint = self.cx.hints.about(point, &name.text, || {
            let names = names();
            match crate::lang::suggest(&name.text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "it has no fields".to_owned(),
                None => {
                    let shown = names.iter().take(SHOWN_NAMES).copied().collect::<Vec<_>>().join(", ");
                    format!("it has {shown}{}", if names.len() > SHOWN_NAMES { ", …" } else { "" })
                }
            }
        });
        self.fail(name.span, message, hint)
    }

    fn no_program_variable<T>(&mut self, name: &Name, point: &str, known: &ProgramVariables) -> Checked<T> {
        let message = format!("{point} has no variable or parameter `{}`", name.text);
        let hint = match (known.names(), known.missing.as_str()) {
            (names, "") if names.is_empty() => {
                "nothing is in scope there; probe a source line within the function".to_owned()
            }
            (names, "") => match crate::lang::suggest(&name.text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let shown = names.iter().take(SHOWN_NAMES).copied().collect::<Vec<_>>().join(", ");
                    format!("it has {shown}{}", if names.len() > SHOWN_NAMES { ", …" } else { "" })
                }
            },
            (_, missing) => missing.to_owned(),
        };
        self.fail(name.span, message, hint)
    }

    /// A field of a tracepoint's record.
    fn field(&mut self, field: &EventField, syscall: bool, span: Span) -> Checked<TypedExpr> {
        let space = if syscall { Space::User } else { Space::Kernel };
        let offset = field.offset;
        let context = TypedExprKind::Context { offset };
        Ok(match field.kind {
            FieldKind::Integer => TypedExpr::new(context, self.field_number(field), span),
            FieldKind::Pointer | FieldKind::UserText => TypedExpr::new(context, self.field_pointer(field, space), span),
            FieldKind::FixedText => TypedExpr::new(context, Type::Text { bytes: field.size }, span),
            FieldKind::ArrayOf { element_bytes, count } => {
                let bytes = u8::try_from(element_bytes).unwrap_or(8);
                let of = Box::new(Type::Integer { bytes, signed: field.signed });
                TypedExpr::new(context, Type::Array { of, count }, span)
            }
            FieldKind::DynamicText | FieldKind::RelativeDynamicText => {
                let relative = field.kind == FieldKind::RelativeDynamicText;
                let bytes = self.cx.config.max_strlen.saturating_add(1);
                TypedExpr::new(TypedExprKind::DynamicText { offset, relative }, Type::Text { bytes }, span)
            }
            FieldKind::Other => return self.odd_field(field, span),
        })
    }

    fn field_number(&mut self, field: &EventField) -> Type {
        let bytes = u8::try_from(field.size).unwrap_or(8);
        let plain = field.type_name.trim_start_matches("const ").trim();
        if plain == "bool" && bytes == 1 {
            return Type::Bool;
        }
        if plain.starts_with("enum ")
            && let Some(id) = self.cx.types.spelled(plain)
            && let Type::Enum { name, signed, .. } = self.cx.c_type(id, Space::Kernel)
        {
            return Type::Enum { name, bytes, signed, names: Vec::new() };
        }
        Type::Integer { bytes, signed: field.signed }
    }

    fn field_pointer(&mut self, field: &EventField, space: Space) -> Type {
        // The same few types are named in hundreds of tracepoints.
        let key = (field.type_name.clone(), space);
        if let Some(known) = self.cx.pointers.get(&key) {
            return known.clone();
        }
        let plain = field.type_name.replace("__user", " ");
        let declared = self.cx.types.declared(&plain).ok();
        let ty = match declared.map(|id| self.cx.c_type(id, space)) {
            Some(pointer @ Type::Pointer { .. }) => pointer,
            _ => Type::Pointer { to: Box::new(Pointee::Void), space },
        };
        self.cx.pointers.insert(key, ty.clone());
        ty
    }

    /// A field that is neither a number nor text.
    fn odd_field(&mut self, field: &EventField, span: Span) -> Checked<TypedExpr> {
        let offset = field.offset;
        for (prefix, relative) in [("__data_loc", false), ("__rel_loc", true)] {
            let Some(of) = field.type_name.strip_prefix(prefix) else { continue };
            let element = of.trim().trim_end_matches("[]").trim();
            let of = self.cx.types.spelled(element).map(|id| self.cx.c_type(id, Space::Kernel));
            let to = match of {
                Some(ty) if ty != Type::None => super::checker::ScriptChecker::pointee(ty),
                _ => Pointee::Void,
            };
            let ty = Type::Pointer { to: Box::new(to), space: Space::Kernel };
            return Ok(TypedExpr::new(TypedExprKind::DynamicAddress { offset, relative }, ty, span));
        }
        if field.size == 0 {
            let message = format!("the kernel does not say how long the field `{}` is", field.name);
            return self.fail(span, message, "it cannot be used");
        }
        let known = self.cx.types.spelled(&field.type_name).map(|id| self.cx.c_type(id, Space::Kernel));
        let ty = match known {
            Some(ty) if ty.bytes() == field.size => ty,
            _ => Type::Array { of: Box::new(Type::Integer { bytes: 1, signed: false }), count: field.size },
        };
        Ok(TypedExpr::new(TypedExprKind::Context { offset }, ty, span))
    }

    fn word(&mut self, word: &Word, span: Span) -> TypedExpr {
        let ty = match self.cx.c_type(word.ty, Space::Kernel) {
            Type::None => Type::U64,
            ty => ty,
        };
        TypedExpr::new(TypedExprKind::Context { offset: word.offset }, ty, span)
    }

    /// `args` as a whole: a record of all that can be read.
    pub(super) fn all_args(&mut self, span: Span) -> Checked<TypedExpr> {
        let shape = self.shape;
        let (mut types, mut parts) = (Vec::new(), Vec::new());
        match &shape.args {
            Args::Format { format, syscall, .. } => {
                for field in &Arc::clone(format).fields {
                    if field.size > 0 {
                        let value = self.field(field, *syscall, span)?;
                        types.push((field.name.clone(), value.ty.clone()));
                        parts.push(value);
                    }
                }
            }
            Args::Words { words, .. } if shape.kind != PointKind::Iter => {
                for word in words.clone() {
                    let value = self.word(&word, span);
                    types.push((word.name.clone(), value.ty.clone()));
                    parts.push(value);
                }
            }
            Args::Program(variables) => {
                for (name, value) in self.all_variables(&variables.clone(), span) {
                    types.push((name, value.ty.clone()));
                    parts.push(value);
                }
            }
            Args::Unknown => return Err(Failed),
            Args::None(instead) => return self.no_args(span, &instead.clone()),
            Args::Usdt(_) => return self.no_args(span, "use `arg0`, `arg1`, …"),
            Args::Words { .. } => return self.no_args(span, "use `ctx`: `ctx.task`"),
        }
        if parts.is_empty() {
            return self.fail(span, "there are no arguments", "");
        }
        Ok(TypedExpr::new(TypedExprKind::Tuple(parts), Type::Record(types), span))
    }

    /// A member of an iterator's `ctx`.
    pub(super) fn iterator_member(&mut self, name: &Name, span: Span) -> Checked<CheckedOperand> {
        let Args::Words { name: point, words } = &self.shape.args else { return Err(Failed) };
        match words.iter().find(|word| word.name == name.text) {
            Some(word) => Ok(CheckedOperand::Value(self.word(&word.clone(), span))),
            None => {
                let hint = self.cx.hints.about(point, &name.text, || {
                    let names = words.iter().map(|word| word.name.as_str());
                    crate::lang::suggest(&name.text, names.clone()).map_or_else(
                        || format!("it has {}", names.collect::<Vec<_>>().join(", ")),
                        |near| format!("did you mean `{near}`?"),
                    )
                });
                self.fail(name.span, format!("ctx of {point} has no member `{}`", name.text), hint)
            }
        }
    }

    /// `ctx`.
    pub(super) fn context(&mut self, span: Span) -> Checked<CheckedOperand> {
        let kind = self.shape.kind;
        if kind == PointKind::Iter {
            return Ok(CheckedOperand::IteratorContext(span));
        }
        let named = match kind {
            PointKind::Kprobe | PointKind::Kretprobe | PointKind::Uprobe | PointKind::Uretprobe | PointKind::Usdt => {
                Some("struct pt_regs")
            }
            PointKind::Profile
            | PointKind::Interval
            | PointKind::Software
            | PointKind::Hardware
            | PointKind::Watchpoint => Some("struct bpf_perf_event_data"),
            _ => None,
        };
        let known = named.and_then(|name| self.cx.types.spelled(name));
        let to = match known.map(|id| self.cx.c_type(id, Space::Kernel)) {
            Some(ty) => super::checker::ScriptChecker::pointee(ty),
            None => Pointee::Void,
        };
        let ty = Type::Pointer { to: Box::new(to), space: Space::Kernel };
        Ok(CheckedOperand::Value(TypedExpr::new(TypedExprKind::ContextAddress { offset: 0 }, ty, span)))
    }

    /// `argN`.
    pub(super) fn numbered_argument(&mut self, index: u32, span: Span) -> Checked<TypedExpr> {
        let architecture = self.cx.host.features().architecture;
        if index >= MAX_ARGUMENTS {
            return self.fail(
                span,
                format!("arg{index} is too far"),
                format!("there are arg0 to arg{}", MAX_ARGUMENTS - 1),
            );
        }
        let shape = self.shape;
        match (shape.kind, &shape.args) {
            (_, Args::Unknown) => Err(Failed),
            (PointKind::Kprobe | PointKind::Uprobe, _) => {
                let kind = match argument_register(architecture, index) {
                    Some(offset) => TypedExprKind::Register { offset },
                    None => {
                        let before = (0..index).filter(|it| argument_register(architecture, *it).is_some()).count();
                        let index = index - u32::try_from(before).unwrap_or(0);
                        TypedExprKind::StackArgument { index, space: shape.space }
                    }
                };
                Ok(TypedExpr::new(kind, Type::U64, span))
            }
            (PointKind::Usdt, Args::Usdt(arguments)) => match arguments.get(index as usize) {
                Some(argument) => {
                    let ty = Type::Integer { bytes: argument.bytes, signed: argument.signed };
                    Ok(TypedExpr::new(TypedExprKind::UsdtArgument { index }, ty, span))
                }
                None => {
                    let hint = match arguments.len() {
                        0 => "it has no arguments".to_owned(),
                        1 => "it has only arg0".to_owned(),
                        count => format!("it has arg0 to arg{}", count - 1),
                    };
                    let message = format!("the USDT probe {} has no arg{index}", shape.point);
                    self.fail(span, message, hint)
                }
            },
            (PointKind::RawTracepoint | PointKind::Fentry | PointKind::Fexit, Args::Words { words, name }) => {
                match words.get(index as usize) {
                    Some(word) => {
                        let offset = word.offset;
                        Ok(TypedExpr::new(TypedExprKind::Context { offset }, Type::U64, span))
                    }
                    None => {
                        let message = format!("{name} has no arg{index}");
                        let names: Vec<&str> = words.iter().map(|word| word.name.as_str()).collect();
                        let hint = format!("it has {}: {}", names.len(), names.join(", "));
                        self.fail(span, message, hint)
                    }
                }
            }
            (PointKind::Tracepoint, _) => {
                self.fail(span, format!("tracepoints have no arg{index}"), "their arguments have names: `args.name`")
            }
            (PointKind::Kretprobe | PointKind::Uretprobe, _) => self.fail(
                span,
                format!("arg{index} is gone when the function returns"),
                "use `retval`; keep arguments in a map at the entry: `@a[tid] = arg0`",
            ),
            (kind, _) => self.fail(span, format!("{} probes have no arg{index}", kind.name()), ""),
        }
    }

    /// `sargN`: a word of the stack.
    pub(super) fn stack_argument(&mut self, index: u32, span: Span) -> Checked<TypedExpr> {
        if !matches!(self.shape.kind, PointKind::Kprobe | PointKind::Uprobe) {
            let message = format!("{} probes have no sarg{index}", self.shape.kind.name());
            return self.fail(span, message, "only kprobes and uprobes have arguments on the stack");
        }
        let space = self.shape.space;
        Ok(TypedExpr::new(TypedExprKind::StackArgument { index, space }, Type::U64, span))
    }

    /// `retval`.
    pub(super) fn returned(&mut self, span: Span) -> Checked<TypedExpr> {
        let offset = return_register(self.cx.host.features().architecture);
        match self.shape.returned.clone() {
            Returned::Unknown => Err(Failed),
            Returned::Register(ty) => {
                let value = TypedExpr::new(TypedExprKind::Register { offset }, Type::U64, span);
                let ty = ty.map(|ty| self.cx.c_type(ty, Space::Kernel));
                Ok(match ty {
                    Some(ty @ (Type::Integer { .. } | Type::Enum { .. } | Type::Bool)) => value.convert(ty),
                    _ => value,
                })
            }
            Returned::Word(word) => Ok(self.word(&word, span)),
            Returned::None => {
                let kind = self.shape.kind;
                let hint = match kind {
                    PointKind::Kprobe => "use a `kretprobe`",
                    PointKind::Fentry => "use `fexit`",
                    PointKind::Fexit => "the function returns nothing",
                    PointKind::Uprobe => "use a `uretprobe`",
                    PointKind::Tracepoint => "`tracepoint:syscalls:sys_exit_…` have `args.ret`",
                    _ => "it is what a function returned: kretprobe, fexit, uretprobe",
                };
                self.fail(span, format!("{} probes have no `retval`", kind.name()), hint)
            }
        }
    }

    /// `reg("ip")`.
    pub(super) fn register(&mut self, name: &str, span: Span) -> Checked<TypedExpr> {
        if self.shape.unknown {
            return Err(Failed);
        }
        if !self.shape.kind.has_registers() {
            let message = format!("{} probes have no registers", self.shape.kind.name());
            return self.fail(span, message, "kprobes, uprobes, usdt and profile have");
        }
        let architecture = self.cx.host.features().architecture;
        match register(architecture, name) {
            Some(offset) => Ok(TypedExpr::new(TypedExprKind::Register { offset }, Type::U64, span)),
            None => {
                let hint = self.cx.hints.about("register", name, || {
                    let names = registers(architecture).iter().map(|(name, _)| *name);
                    crate::lang::suggest(name, names.clone()).map_or_else(
                        || format!("there are {}", names.collect::<Vec<_>>().join(", ")),
                        |near| format!("did you mean `{near}`?"),
                    )
                });
                self.fail(span, format!("there is no register `{name}`"), hint)
            }
        }
    }

    /// The names of the fields that `args` or `ctx` has, with their types, for the editor.
    pub(super) fn argument_types(&mut self) -> Vec<(String, Type)> {
        let shape = self.shape;
        let span = Span::default();
        match &shape.args {
            Args::Format { format, syscall, .. } => Arc::<EventFormat>::clone(format)
                .fields
                .iter()
                .filter_map(|field| Some((field.name.clone(), self.field(field, *syscall, span).ok()?.ty)))
                .collect(),
            Args::Program(variables) => self.variable_types(&variables.clone()),
            Args::Words { words, .. } => {
                words.clone().iter().map(|word| (word.name.clone(), self.word(word, span).ty)).collect()
            }
            _ => Vec::new(),
        }
    }
}
