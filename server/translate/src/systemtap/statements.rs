//! Statements.

use bathyscope_plan::Span;

use super::{
    functions, statistics,
    writer::{HandlerWriter, Scope},
};
use crate::{
    emit::{Meaning, Value, ValueKind, settled},
    formats,
    refusal::{Result, refuse},
    tree::{Expr, ExprKind, Statement, StatementKind},
};

impl HandlerWriter<'_, '_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Expr(expr) => self.effect(expr),
            StatementKind::Block(body) => body.iter().try_for_each(|it| self.statement(it)),
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.truth(condition)?;
                self.lines.push(format!("if ({condition}) {{"));
                self.statement(then)?;
                if let Some(otherwise) = otherwise {
                    self.lines.push("} else {".to_owned());
                    self.statement(otherwise)?;
                }
                self.lines.push("}".to_owned());
                Ok(())
            }
            StatementKind::While { condition, body } => self.while_loop(condition, None, body, statement.span),
            StatementKind::For { first, condition, step, body } => {
                if let Some(first) = first {
                    self.effect(first)?;
                }
                let Some(condition) = condition else {
                    return refuse(
                        statement.span,
                        "a loop without an end cannot run in the kernel",
                        "write its condition",
                    );
                };
                self.while_loop(condition, step.as_ref(), body, statement.span)
            }
            StatementKind::Foreach(it) => self.foreach(it),
            StatementKind::Delete(of) => self.delete(of),
            StatementKind::Next if self.loops.is_empty() => {
                self.lines.push("return;".to_owned());
                Ok(())
            }
            StatementKind::Next => refuse(statement.span, "`next` within `foreach` is not translated", "use `break`"),
            StatementKind::Break => {
                self.lines.push("break;".to_owned());
                Ok(())
            }
            StatementKind::Continue => {
                self.lines.push("continue;".to_owned());
                Ok(())
            }
            StatementKind::Return(_) => {
                refuse(statement.span, "`return` ends only a function of one expression", "use `if` and `else`")
            }
        }
    }

    fn while_loop(&mut self, condition: &Expr, step: Option<&Expr>, body: &Statement, span: Span) -> Result<()> {
        if step.is_some() && has_continue(body) {
            return refuse(
                span,
                "`continue` in a `for` loop is not translated",
                "use `if` around the rest of the body",
            );
        }
        let condition = self.truth(condition)?;
        self.lines.push(format!("while ({condition}) {{"));
        self.statement(body)?;
        if let Some(step) = step {
            self.effect(step)?;
        }
        self.lines.push("}".to_owned());
        Ok(())
    }

    fn delete(&mut self, of: &Expr) -> Result<()> {
        let name = statistics::global(of).to_owned();
        if !self.whole.globals.contains(&name) {
            return refuse(of.span, "only elements of globals are deleted", "write `delete array[key]`");
        }
        let maps = self.whole.statistics.get(&name).map_or_else(|| vec![format!("@{name}")], |it| it.maps(&name));
        let keys = match &of.kind {
            ExprKind::Index { keys, .. } => Some((self.values(keys)?, keys.len())),
            _ => None,
        };
        for map in maps {
            self.lines.push(match &keys {
                None => format!("clear({map});"),
                Some((keys, 1)) => format!("delete({map}, {keys});"),
                Some((keys, _)) => format!("delete({map}, ({keys}));"),
            });
        }
        Ok(())
    }

    /// An expression for what it does.
    fn effect(&mut self, expr: &Expr) -> Result<()> {
        match &expr.kind {
            ExprKind::Assign { operator, to, value } => self.assign(operator, to, value),
            ExprKind::Postfix { operator, of } | ExprKind::Prefix { operator: operator @ ("++" | "--"), of } => {
                let to = self.assigned(of)?;
                self.lines.push(format!("{to}{operator};"));
                Ok(())
            }
            ExprKind::Call { name, arguments } => self.call_statement(name, arguments, expr.span),
            ExprKind::Text(_) | ExprKind::Number(_) => Ok(()),
            _ => refuse(expr.span, "this does nothing", "assign it, or print it"),
        }
    }

    fn assign(&mut self, operator: &str, to: &Expr, value: &Expr) -> Result<()> {
        if operator == "<<<" {
            let name = statistics::global(to).to_owned();
            let keys = match &to.kind {
                ExprKind::Index { keys, .. } => format!("[{}]", self.values(keys)?),
                _ => String::new(),
            };
            let value = self.clocked(value)?;
            let statistics = self.whole.statistics.get(&name).cloned().unwrap_or_default();
            self.lines.extend(statistics.add(&name, &keys, &value));
            return Ok(());
        }
        let made = self.clocked(value)?;
        if operator == ".=" {
            let to = self.assigned(to)?;
            self.lines.push(format!("{to} = str_concat({to}, {made});"));
            return Ok(());
        }
        let to = self.assigned(to)?;
        self.lines.push(format!("{to} {operator} {made};"));
        Ok(())
    }

    /// A value, which may be a clock: it is kept to be subtracted.
    fn clocked(&mut self, value: &Expr) -> Result<String> {
        if let ExprKind::Call { name, .. } = &value.kind
            && let Some(clock) = functions::clock(name)
        {
            self.tell_clock(value.span);
            return Ok(clock.to_owned());
        }
        Ok(settled(self.value(value)?, value.span)?.signed())
    }

    pub(super) fn tell_clock(&mut self, span: Span) {
        let message =
            "`gettimeofday` counts from the start of the machine here: differences are the same, moments are not";
        self.note(span, message, "print a moment by `ctime(gettimeofday_s())`");
    }

    fn call_statement(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<()> {
        let line = match (name, arguments) {
            ("printf", _) => return self.printf(arguments, "", span),
            ("log", [value]) => return self.print(std::slice::from_ref(value), "\\n"),
            ("println", _) => return self.print(arguments, "\\n"),
            ("print", _) => return self.print(arguments, ""),
            ("warn" | "error", [value]) => {
                let text = self.text_of(value)?;
                let end = if name == "error" { " exit(1);" } else { "" };
                format!("{}(\"%s\\n\", {text});{end}", if name == "error" { "errorf" } else { "warnf" })
            }
            ("exit", []) => "exit();".to_owned(),
            ("print_backtrace", []) => "print(kstack);".to_owned(),
            ("print_ubacktrace", []) => "print(ustack);".to_owned(),
            ("print_stack" | "print_syms" | "print_ustack" | "print_usyms", [stack]) => {
                format!("print({});", self.text_of(stack)?)
            }
            _ if self.whole.functions.contains_key(name) => return self.procedure(name, arguments, span),
            _ => {
                let hint = "use printf, println, print, print_backtrace or exit";
                return refuse(span, format!("the function `{name}` has no equal as a statement"), hint);
            }
        };
        self.lines.push(line);
        Ok(())
    }

    /// `print` and `println`.
    fn print(&mut self, values: &[Expr], end: &str) -> Result<()> {
        if let [Expr { kind: ExprKind::Call { name, arguments }, span, .. }] = values
            && let Some(kind @ ("hist_log" | "hist_linear")) = statistics::kind(name)
            && let Some(of) = arguments.first()
        {
            let text = self.statistic(kind, of, *span)?;
            self.lines.push(format!("print({text});"));
            return Ok(());
        }
        let (mut format, mut shown) = (String::new(), Vec::new());
        for expr in values {
            if let ExprKind::Text(text) = &expr.kind {
                format.push_str(&text.replace('%', "%%"));
                continue;
            }
            let value = self.printed(expr)?;
            let letter = match value.kind {
                ValueKind::Number => 'd',
                ValueKind::Unknown => {
                    if values.len() == 1 && !end.is_empty() {
                        self.lines.push(format!("print({});", value.text));
                        return Ok(());
                    }
                    return refuse(
                        expr.span,
                        "whether this is a number or a text is not known here",
                        "use `printf` with `%d` or `%s`",
                    );
                }
                _ => 's',
            };
            let (piece, arguments) = formats::shown("", letter, &value, expr.span)?;
            format.push_str(&piece);
            shown.extend(arguments);
        }
        format.push_str(end);
        self.lines.push(formats::printf(&format, &shown));
        Ok(())
    }

    fn printf(&mut self, arguments: &[Expr], end: &str, span: Span) -> Result<()> {
        let (text, shown) = formats::converted(arguments, span, |flags, letter, expr| {
            let value = self.printed(expr)?;
            let is_moment = value.kind == ValueKind::Date && value.text == "gettimeofday_s";
            if is_moment && matches!(letter, 'd' | 'u') {
                return Ok((format!("%{flags}s"), vec!["strftime(\"%s\", nsecs)".to_owned()]));
            }
            formats::shown(flags, letter, &value, expr.span)
        })?;
        self.lines.push(formats::printf(&(text + end), &shown));
        Ok(())
    }

    /// A function of the script that is called for what it does.
    fn procedure(&mut self, name: &str, arguments: &[Expr], span: Span) -> Result<()> {
        let function = self.enter(name, arguments.len(), span)?;
        let prefix = format!("{name}_");
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let value = settled(self.value(argument)?, argument.span)?;
            self.lines.push(format!("${prefix}{parameter} = {};", value.text));
            self.locals.insert(format!("{prefix}{parameter}"));
        }
        self.scopes.push(Scope { prefix, ..Scope::default() });
        let written = function.body.iter().try_for_each(|it| self.statement(it));
        self.scopes.pop();
        written
    }

    /// A value where it is printed: texts that are made only then, and names in quotes as SystemTap has them.
    fn printed(&mut self, expr: &Expr) -> Result<Value> {
        match expr.name() {
            Some(name) => match self.printed_name(name, expr.span)? {
                Some(value) => Ok(value),
                None => self.value(expr),
            },
            None => self.value(expr),
        }
    }
}

fn has_continue(body: &Statement) -> bool {
    match &body.kind {
        StatementKind::Continue => true,
        StatementKind::Block(body) => body.iter().any(has_continue),
        StatementKind::If { then, otherwise, .. } => {
            has_continue(then) || otherwise.as_ref().is_some_and(|it| has_continue(it))
        }
        _ => false,
    }
}
