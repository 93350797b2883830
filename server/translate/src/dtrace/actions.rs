//! Actions and assignments.

use bathyscope_plan::Span;

use super::{MapUse, clause::ClauseWriter};
use crate::{
    emit::{Meaning, Value, ValueKind, settled},
    formats,
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

impl ClauseWriter<'_, '_> {
    pub(super) fn action(&mut self, expr: &Expr) -> Result<()> {
        if !matches!(&expr.kind, ExprKind::Call { name, .. } if name == "trace") {
            self.end_line();
        }
        match &expr.kind {
            ExprKind::Assign { operator, to, value } => self.assign(operator, to, value),
            ExprKind::Postfix { operator, of } | ExprKind::Prefix { operator: operator @ ("++" | "--"), of } => {
                let to = self.variable(of)?;
                self.lines.push(format!("{to}{operator};"));
                Ok(())
            }
            ExprKind::Call { name, arguments } => self.call_action(name, arguments, expr.span),
            _ => refuse(expr.span, "this does nothing", "write an action, such as `trace(value)`"),
        }
    }

    fn call_action(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<()> {
        match (name, arguments) {
            ("printf", _) => self.printf(arguments, span),
            ("trace", [value]) => self.trace(value),
            ("printa", _) => self.printa(arguments, span),
            ("clear" | "trunc" | "normalize" | "denormalize", _) => self.change(name, arguments, span),
            ("stack" | "ustack", _) => {
                let stack = self.stack(name, arguments, span)?;
                self.lines.push(format!("print({stack});"));
                Ok(())
            }
            ("exit", [status]) => {
                let status = self.text_of(status)?;
                self.lines.push(if status == "0" { "exit();".to_owned() } else { format!("exit({status});") });
                Ok(())
            }
            _ => no_action(name, span),
        }
    }

    /// A stack as a value.
    pub(super) fn stack(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<String> {
        let frames = match arguments {
            [] => None,
            [frames] => self.constant(frames),
            [frames, strings] if name == "ustack" && self.constant(strings) == Some(0) => self.constant(frames),
            _ => return refuse(span, format!("`{name}` takes a number of frames"), format!("write `{name}(10)`")),
        };
        let builtin = if name == "stack" { "kstack" } else { "ustack" };
        match (frames, arguments) {
            (Some(frames @ 1..=1024), _) => Ok(format!("{builtin}({frames})")),
            (None, []) => Ok(builtin.to_owned()),
            _ => refuse(span, "a stack has 1 to 1024 frames", format!("write `{name}(10)`")),
        }
    }

    fn trace(&mut self, value: &Expr) -> Result<()> {
        let shown = self.value(value)?;
        let letter = match shown.kind {
            ValueKind::Number => 'd',
            ValueKind::Text | ValueKind::Shown => 's',
            ValueKind::Date | ValueKind::Unknown => {
                let text = settled(shown, value.span)?.text;
                self.end_line();
                self.lines.push(format!("print({text});"));
                return Ok(());
            }
        };
        let (format, arguments) = formats::shown("", letter, &shown, value.span)?;
        self.traced.0.push(format);
        self.traced.1.extend(arguments);
        Ok(())
    }

    fn printf(&mut self, arguments: &[Expr], span: Span) -> Result<()> {
        let (text, shown) = formats::converted(arguments, span, |flags, letter, expr| {
            let value = self.value(expr)?;
            self.conversion(flags, letter, &value, expr.span)
        })?;
        self.print_line(text, shown);
        Ok(())
    }

    fn conversion(&mut self, flags: &str, letter: char, value: &Value, span: Span) -> Result<(String, Vec<String>)> {
        match letter {
            'Y' if value.kind == ValueKind::Date => {
                Ok((format!("%{flags}s"), vec!["strftime(\"%Y %b %e %H:%M:%S\", nsecs)".to_owned()]))
            }
            'Y' => refuse(span, "`%Y` shows `walltimestamp` only", "write `%d`, or give it `walltimestamp`"),
            'a' if value.kind == ValueKind::Number => {
                Ok((format!("%{flags}s"), vec![format!("ksym({})", value.as_pointer())]))
            }
            'A' if value.kind == ValueKind::Number => {
                Ok((format!("%{flags}s"), vec![format!("usym({})", value.as_pointer())]))
            }
            'a' | 'A' | 'k' if value.kind == ValueKind::Shown => Ok((format!("%{flags}s"), vec![value.text.clone()])),
            'S' => refuse(span, "`%S` has no equal", "write `%s`: control characters are shown as escapes anyway"),
            '@' => refuse(span, "`%@d` is for `printa`", "write `%d`"),
            _ => formats::shown(flags, letter, value, span),
        }
    }

    /// What an assignment is to.
    pub(super) fn variable(&mut self, to: &Expr) -> Result<String> {
        let (of, keys) = match &to.kind {
            ExprKind::Index { of, keys } => (&**of, keys.as_slice()),
            _ => (to, &[][..]),
        };
        if let ExprKind::Member { of: scope, name } = &of.kind {
            let keys = self.values(keys)?;
            match scope.name() {
                Some("self") => {
                    let map = self.map(format!("@self_{name}"), MapUse::Thread, to.span)?;
                    let tid = self.thread("tid");
                    let keys = if keys.is_empty() { keys } else { format!(", {keys}") };
                    return Ok(format!("{map}[{tid}{keys}]"));
                }
                Some("this") if keys.is_empty() => {
                    self.locals.insert(name.clone());
                    return Ok(format!("${name}"));
                }
                _ => {}
            }
        }
        match of.name() {
            Some(name) if !name.starts_with(['$', '@', '`']) && name != "args" => {
                let map = self.map(format!("@{name}"), MapUse::Global, to.span)?;
                let keys = self.values(keys)?;
                Ok(if keys.is_empty() { map } else { format!("{map}[{keys}]") })
            }
            _ => refuse(to.span, "this cannot be assigned to", "assign to a variable, `self->name` or `this->name`"),
        }
    }

    fn assign(&mut self, operator: &str, to: &Expr, value: &Expr) -> Result<()> {
        let (name, keys) = match &to.kind {
            ExprKind::Name(name) => (name.as_str(), &[][..]),
            ExprKind::Index { of, keys } => (of.name().unwrap_or_default(), keys.as_slice()),
            _ => ("", &[][..]),
        };
        if name.starts_with('@') {
            if operator != "=" {
                return refuse(to.span, "an aggregation is changed by `=` only", "write `@ = sum(value)`");
            }
            return self.aggregate(name, keys, value);
        }
        let made = settled(self.value(value)?, value.span)?.signed();
        let text = self.variable(to)?;
        // Zero takes an element's memory back in D.
        let element = text.split_once('[').and_then(|(map, keys)| Some((map, keys.strip_suffix(']')?)));
        match element {
            Some((map, keys)) if operator == "=" && value.number() == Some(0) => {
                let keys = if keys.contains(", ") { format!("({keys})") } else { keys.to_owned() };
                self.lines.push(format!("delete({map}, {keys});"));
            }
            _ => self.lines.push(format!("{text} {operator} {made};")),
        }
        Ok(())
    }
}

/// Why an action has no equal.
fn no_action<T>(name: &str, span: Span) -> Result<T> {
    let (reason, hint) = match name {
        "tracemem" => ("bytes of memory are not shown so", "show a text with `copyinstr`, or use `buf` in the script"),
        "system" => ("commands are not started by a translation", "write `system()` into the script and allow it"),
        "copyout" | "copyoutstr" | "raise" | "stop" | "panic" | "breakpoint" | "chill" => {
            ("it changes the system", "write `signal()` or `write_user()` into the script and allow it")
        }
        "speculate" | "speculation" | "commit" | "discard" => {
            ("there are no speculations", "keep values in a map by `tid`, and print them when the outcome is known")
        }
        "jstack" => ("stacks of Java need its symbols", "use `ustack()`, and have the JVM write a map of symbols"),
        "freopen" | "ftruncate" => ("output goes to the capture", "leave it out, and export the capture"),
        "setopt" => ("options are set before it starts", "leave it out"),
        _ => ("it is not known", "use printf, trace, printa, stack, ustack, clear, trunc, normalize or exit"),
    };
    refuse(span, format!("`{name}` has no equal: {reason}"), hint)
}
