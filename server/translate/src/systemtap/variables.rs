//! Names: globals, local variables, target variables (`$name`) and variables of the probe.

use bathyscope_plan::Span;

use super::{
    no_parameter,
    points::{StapPointKind, parameter},
    writer::HandlerWriter,
};
use crate::{
    calls::CallField,
    emit::{Meaning, Value, ValueKind},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

/// What the library takes as a signed number of 32 bits, where the kernel's call says otherwise.
fn is_descriptor(name: &str) -> bool {
    matches!(name, "fd" | "oldfd" | "newfd")
}

/// The format of an argument of a system call, with its value.
fn shown(field: CallField) -> (&'static str, String) {
    let text = format!("args.{}", field.name);
    match field.kind {
        's' => ("\\\"%s\\\"", format!("str({text})")),
        'u' if is_descriptor(field.name) => ("%ld", format!("(int32){text}")),
        'u' if matches!(field.name, "addr" | "start") => ("0x%lx", text),
        'p' => ("0x%lx", format!("(uint64){text}")),
        'x' => ("0x%lx", text),
        'o' => ("%#lo", text),
        'u' => ("%lu", text),
        _ => ("%ld", text),
    }
}

impl HandlerWriter<'_, '_> {
    fn prefixed(&self, name: &str) -> String {
        self.scopes.last().map_or_else(|| name.to_owned(), |scope| format!("{}{name}", scope.prefix))
    }

    /// What an assignment is to.
    pub(super) fn assigned(&mut self, to: &Expr) -> Result<String> {
        let (of, keys) = match &to.kind {
            ExprKind::Index { of, keys } => (&**of, keys.as_slice()),
            _ => (to, &[][..]),
        };
        let Some(name) = of.name() else {
            return refuse(to.span, "this cannot be assigned to", "assign to a variable");
        };
        if name.starts_with(['$', '@', '`']) {
            return refuse(
                to.span,
                "variables of the traced program are not changed",
                "assign to a variable of the script",
            );
        }
        if self.whole.statistics.contains_key(name) {
            return refuse(to.span, format!("`{name}` holds statistics"), "add to it by `<<<`");
        }
        if self.loops.iter().any(|it| it.keys.iter().any(|key| key == name)) {
            return refuse(to.span, "the variable of a loop is not changed", "use another variable");
        }
        let keys_text = self.values(keys)?;
        if self.whole.globals.contains(name) {
            return Ok(if keys.is_empty() { format!("@{name}") } else { format!("@{name}[{keys_text}]") });
        }
        if !keys.is_empty() {
            return refuse(to.span, format!("the array `{name}` is not declared"), format!("write `global {name}`"));
        }
        if name.starts_with("each_") {
            return refuse(to.span, format!("`{name}` is a name that the translation needs"), "give it another name");
        }
        let local = self.prefixed(name);
        self.locals.insert(local.clone());
        Ok(format!("${local}"))
    }

    pub(super) fn named(&mut self, name: &str, span: Span) -> Result<Value> {
        if let Some(value) = self.scopes.last().and_then(|scope| scope.parameters.get(name)) {
            return Ok(value.clone());
        }
        for it in self.loops.iter().rev() {
            if it.value.as_deref() == Some(name) {
                return Ok(Value::new(format!("{}.1", it.entry), ValueKind::Unknown));
            }
            if let Some(at) = it.keys.iter().position(|key| key == name) {
                let part = if it.keys.len() > 1 { format!(".{at}") } else { String::new() };
                return Ok(Value::new(format!("{}.0{part}", it.entry), ValueKind::Unknown));
            }
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if let Some(digits) = name.strip_prefix('$').filter(|it| is_number(it)) {
            let Some(text) = parameter(digits, &self.whole.options.parameters) else { return no_parameter(name, span) };
            return match text.parse::<i64>() {
                Ok(number) => Ok(Value::number(number.to_string())),
                Err(_not_a_number) => refuse(
                    span,
                    format!("the parameter `{name}` is no number"),
                    format!("write `@{digits}` for a text"),
                ),
            };
        }
        if let Some(digits) = name.strip_prefix('@').filter(|it| is_number(it)) {
            let Some(text) = parameter(digits, &self.whole.options.parameters) else { return no_parameter(name, span) };
            if text.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
                return refuse(span, "this parameter has characters that are not translated", "write a plain text");
            }
            return Ok(Value::text(format!("\"{text}\"")));
        }
        if let Some(target) = name.strip_prefix('$') {
            return self.target_variable(target, span);
        }
        let local = self.prefixed(name);
        if self.locals.contains(&local) {
            return Ok(Value::new(format!("${local}"), ValueKind::Unknown));
        }
        if self.whole.statistics.contains_key(name) {
            return refuse(
                span,
                format!("`{name}` holds statistics"),
                "read them by `@count`, `@sum`, `@avg`, `@min`, `@max`",
            );
        }
        if self.whole.globals.contains(name) {
            return Ok(Value::new(format!("@{name}"), ValueKind::Unknown));
        }
        match self.variable(name, span)? {
            Some(value) => Ok(value),
            None => refuse(
                span,
                format!("`{name}` is not defined at this probe"),
                "assign to it, declare it by `global`, or correct its name",
            ),
        }
    }

    fn fields(&self) -> (&[CallField], bool) {
        match &self.point.kind {
            StapPointKind::CallEntry(fields) => (fields, false),
            StapPointKind::CallReturn(fields) => (fields, true),
            _ => (&[], false),
        }
    }

    fn field(&mut self, field: CallField, is_return: bool, span: Span) -> Result<Value> {
        if is_return {
            let name = Expr::new(ExprKind::Name(format!("${}", field.name)), span)?;
            return self.at_entry(&name, span);
        }
        let text = format!("args.{}", field.name);
        Ok(match field.kind {
            's' | 'p' => Value::number(format!("(uint64){text}")).loose().or_pointer(text),
            'd' => Value::number(text),
            _ => Value::number(text).unsigned(),
        })
    }

    /// `$name`.
    fn target_variable(&mut self, name: &str, span: Span) -> Result<Value> {
        let signed = |text: &str| Ok(Value::number(format!("(int64){text}")).loose().or_pointer(text));
        match (&self.point.kind, name) {
            (_, "$name" | "$parms" | "$vars" | "$locals" | "$return")
                if name != "$name" || self.point.name.is_none() =>
            {
                refuse(
                    span,
                    format!("`${name}` is made of debug information, which is not read"),
                    "print the arguments one by one",
                )
            }
            (_, "$name") => Ok(Value::text(format!("\"{}\"", self.point.name.clone().unwrap_or_default()))),
            (StapPointKind::CallReturn(_) | StapPointKind::AnyCallReturn, "return") => Ok(Value::number("args.ret")),
            (StapPointKind::Kernel { typed: true, is_return: true }, "return") => {
                Ok(Value::new("retval", ValueKind::Unknown))
            }
            (StapPointKind::Kernel { is_return: true, .. } | StapPointKind::User { is_return: true }, "return") => {
                let hint = "cast it where the function returns an `int`: `(int32)retval`";
                self.note(span, "what a function returns is taken as a number of 64 bits", hint);
                signed("retval")
            }
            (StapPointKind::CallEntry(_) | StapPointKind::CallReturn(_), _) => {
                let (fields, is_return) = self.fields();
                match fields.iter().find(|it| it.name == name).copied() {
                    Some(field) => self.field(field, is_return, span),
                    None => {
                        let known: Vec<String> = fields.iter().map(|it| format!("${}", it.name)).collect();
                        let hint =
                            format!("it has {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") });
                        refuse(span, format!("this system call has no argument `{name}`"), hint)
                    }
                }
            }
            (StapPointKind::Kernel { typed: true, .. } | StapPointKind::Trace, _) => {
                Ok(Value::new(format!("args.{name}"), ValueKind::Unknown))
            }
            (StapPointKind::Mark, _) => match name.strip_prefix("arg").and_then(|it| it.parse::<usize>().ok()) {
                Some(number @ 1..=12) => Ok(Value::number(format!("(int64)arg{}", number - 1))
                    .loose()
                    .or_pointer(format!("arg{}", number - 1))),
                _ => refuse(span, "a USDT probe has `$arg1`, `$arg2` and so on", "use one of these"),
            },
            (StapPointKind::User { .. }, _) => {
                let hint = "use `long_arg(1)`, `int_arg(1)`, `pointer_arg(1)`";
                refuse(span, format!("`${name}` needs the program's debug information, which is not read"), hint)
            }
            _ => refuse(
                span,
                format!("this probe has no variable `${name}`"),
                "use the variables of the probe, or `kernel.function(…)`",
            ),
        }
    }

    /// A variable that the probe gives.
    fn variable(&mut self, name: &str, span: Span) -> Result<Option<Value>> {
        if let Some(found) = self.point.variables.iter().find(|it| it.name == name) {
            if name == "sig_name" {
                self.note(
                    span,
                    "the name of a signal is shown in words: `Interrupt` for SIGINT",
                    "print `sig` for its number",
                );
            }
            return Ok(Some(Value::new(found.value, found.kind)));
        }
        let any = matches!(self.point.kind, StapPointKind::AnyCallEntry | StapPointKind::AnyCallReturn);
        let is_call = any || matches!(self.point.kind, StapPointKind::CallEntry(_) | StapPointKind::CallReturn(_));
        match (name, &self.point.name, &self.point.kind) {
            ("name", Some(own), _) => return Ok(Some(Value::text(format!("\"{own}\"")))),
            ("name", None, _) if any => return Ok(Some(Value::new("syscall_name(args.id)", ValueKind::Shown))),
            ("argstr", ..) if is_call => {
                let hint = "print it by `%s` in the probe of one call; a capture of system calls shows all with their arguments";
                return refuse(span, "`argstr` is made only while it is printed, from the arguments of one call", hint);
            }
            ("ret", _, StapPointKind::Kernel { is_return: true, typed }) => {
                return Ok(Some(Value::number(if *typed { "retval" } else { "(int64)retval" }).loose()));
            }
            ("bytes_read" | "bytes_written", _, StapPointKind::Kernel { is_return: true, .. }) => {
                return Ok(Some(Value::number("(int64)retval > 0 ? (int64)retval : 0").loose()));
            }
            _ => {}
        }
        let (fields, is_return) = self.fields();
        let base = name.strip_suffix("_uaddr").unwrap_or(name);
        let Some(field) = fields.iter().find(|it| it.name == base).copied() else { return Ok(None) };
        // The library takes descriptors as signed, the kernel's calls some of them as not.
        if field.kind == 'u' && !is_return && is_descriptor(base) {
            return Ok(Some(Value::number(format!("(int32)args.{base}")).loose()));
        }
        if field.kind != 's' || base != name {
            return self.field(field, is_return, span).map(Some);
        }
        self.note(span, "names of files as keys and values have no quotes here", "");
        if is_return {
            let name = Expr::new(ExprKind::Name(name.to_owned()), span)?;
            return self.at_entry(&name, span).map(Some);
        }
        Ok(Some(Value::text(format!("str(args.{})", field.name))))
    }

    /// A name where it is printed.
    pub(super) fn printed_name(&mut self, name: &str, span: Span) -> Result<Option<Value>> {
        if self.whole.globals.contains(name) || self.locals.contains(&self.prefixed(name)) {
            return Ok(None);
        }
        if name == "retstr" && matches!(self.point.kind, StapPointKind::CallReturn(_) | StapPointKind::AnyCallReturn) {
            return Ok(Some(parts("%ld".to_owned(), vec!["args.ret".to_owned()])));
        }
        let StapPointKind::CallEntry(fields) = &self.point.kind else { return Ok(None) };
        if name == "argstr" {
            let all: Vec<(&str, String)> = fields.iter().map(|field| shown(*field)).collect();
            let formats: Vec<&str> = all.iter().map(|(format, _)| *format).collect();
            let format = formats.join(", ");
            let values = all.into_iter().map(|(_, value)| value).collect();
            self.note(
                span,
                "flags and modes in `argstr` are shown as numbers",
                "a capture of system calls shows their names",
            );
            return Ok(Some(parts(format, values)));
        }
        let field = fields.iter().find(|it| it.name == name && it.kind == 's').copied();
        Ok(field.map(|field| {
            let (format, value) = shown(field);
            parts(format.to_owned(), vec![value])
        }))
    }
}

fn parts(format: String, values: Vec<String>) -> Value {
    Value { parts: Some((format, values)), ..Value::text("") }
}
