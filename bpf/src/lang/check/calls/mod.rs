//! Calls of functions, and names that stand for a value.

pub(super) mod actions;
pub(super) mod addresses;
pub(super) mod aggregations;
pub(super) mod compile_time;
pub(super) mod maps;
pub(super) mod output;
pub(super) mod texts;
pub(super) mod values;

use bathyscope_catalog::constants;
use bathyscope_plan::{Architecture, Span, Type};

use super::{
    Checked,
    body::BodyChecker,
    reference::{self, ReferenceEntry},
    values::CheckedOperand,
};
use crate::lang::{
    ast::{self, Name},
    hir::TypedExpr,
};

/// A call as written.
pub(super) struct Call<'e> {
    pub(super) name: &'e str,
    pub(super) arguments: &'e [ast::Expr],
    pub(super) span: Span,
}

impl<'e> Call<'e> {
    pub(super) fn argument(&self, index: usize) -> Option<&'e ast::Expr> {
        self.arguments.get(index)
    }
}

/// The processor, as the tables of constants have it.
pub(super) fn arch(architecture: Architecture) -> constants::Arch {
    match architecture {
        Architecture::X86_64 => constants::Arch::X86_64,
        Architecture::Aarch64 => constants::Arch::Aarch64,
    }
}

/// `argN` and `sargN`.
fn numbered(name: &str) -> Option<(bool, u32)> {
    let (stack, rest) = match name.strip_prefix("sarg") {
        Some(rest) => (true, rest),
        None => (false, name.strip_prefix("arg")?),
    };
    (!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| (stack, rest.parse().unwrap_or(u32::MAX)))
}

impl BodyChecker<'_, '_> {
    /// A bare name.
    pub(super) fn identifier(&mut self, name: &str, span: Span) -> Checked<CheckedOperand> {
        match name {
            "args" => return Ok(CheckedOperand::Args(span)),
            "ctx" => return self.context(span),
            _ => {}
        }
        if let Some((stack, index)) = numbered(name) {
            let value = if stack { self.stack_argument(index, span) } else { self.numbered_argument(index, span) };
            return value.map(CheckedOperand::Value);
        }
        if let Some(entry) = reference::find(name)
            && entry.least == 0
        {
            return self.run(entry, &Call { name, arguments: &[], span }).map(CheckedOperand::Value);
        }
        if let Some(constant) = self.cx.types.constant(name) {
            let (value, of) = (constant.value, constant.of);
            let ty = self.cx.c_type(of, bathyscope_plan::Space::Kernel);
            return Ok(CheckedOperand::Value(TypedExpr::integer(value, ty, span)));
        }
        let architecture = self.cx.host.features().architecture;
        if let Some(constant) = constants::constant(arch(architecture), name) {
            let ty = super::describe::literal_type(constant.value);
            return Ok(CheckedOperand::Value(TypedExpr::integer(constant.value, ty, span)));
        }
        self.no_name(name, span)
    }

    fn no_name<T>(&mut self, name: &str, span: Span) -> Checked<T> {
        if let Some(entry) = reference::find(name) {
            let message = format!("`{name}` is a function");
            return self.fail(span, message, format!("call it: `{}`", entry.signature));
        }
        let bound = self.binding(name).is_some();
        let hint = self.cx.hints.about(if bound { "variable without dollar" } else { "value" }, name, || {
            let values = reference::entries().iter().filter(|entry| entry.least == 0).map(|entry| entry.name);
            let near = crate::lang::suggest(name, values.chain(["args", "ctx"]));
            match near.or_else(|| self.cx.types.closest_constant(name).map(str::to_owned)) {
                Some(near) => format!("did you mean `{near}`?"),
                None if bound => format!("variables begin with a dollar: `${name}`"),
                None => format!("a variable is `${name}`, a map `@{name}`, a text `\"{name}\"`"),
            }
        });
        self.fail(span, format!("`{name}` is not defined"), hint)
    }

    /// `name(arguments)`.
    pub(super) fn call(&mut self, function: &Name, arguments: &[ast::Expr], span: Span) -> Checked<TypedExpr> {
        let name = function.text.as_str();
        let call = Call { name, arguments, span };
        match (name, arguments) {
            ("args", []) => return self.all_args(span),
            ("ctx", []) => {
                let context = self.context(span)?;
                return self.load(context);
            }
            _ => {}
        }
        if let (Some((stack, index)), []) = (numbered(name), arguments) {
            return if stack { self.stack_argument(index, span) } else { self.numbered_argument(index, span) };
        }
        match reference::find(name) {
            Some(entry) => self.run(entry, &call),
            None => {
                let hint = self.cx.hints.about("function to call", name, || {
                    let names = reference::entries().iter().map(|entry| entry.name);
                    crate::lang::suggest(name, names).map_or_else(String::new, |near| format!("did you mean `{near}`?"))
                });
                self.fail(function.span, format!("there is no function `{name}`"), hint)
            }
        }
    }

    /// A call whose result is not used.
    pub(super) fn call_statement(
        &mut self,
        function: &Name,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Checked<TypedExpr> {
        if function.text == "delete" && matches!(arguments.len(), 1 | 2) {
            return maps::delete_statement(self, &Call { name: "delete", arguments, span });
        }
        self.call(function, arguments, span)
    }

    fn run(&mut self, entry: &'static ReferenceEntry, call: &Call<'_>) -> Checked<TypedExpr> {
        let count = call.arguments.len();
        if count < entry.least || count > entry.most {
            let wanted = match (entry.least, entry.most) {
                (0, 0) => "takes nothing".to_owned(),
                (least, most) if least == most => format!("takes {least}"),
                (least, usize::MAX) => format!("takes at least {least}"),
                (least, most) => format!("takes {least} to {most}"),
            };
            let message = format!("`{}` {wanted}, and is given {count}", entry.name);
            return self.fail(call.span, message, format!("it is `{}`", entry.signature));
        }
        (entry.check)(self, call)
    }

    /// An argument that is a text written in the script.
    pub(super) fn literal_text(&mut self, call: &Call<'_>, index: usize, what: &str) -> Checked<Vec<u8>> {
        let Some(argument) = call.argument(index) else {
            return self.fail(call.span, format!("`{}` needs {what}", call.name), "");
        };
        match self.value(argument)?.kind {
            crate::lang::hir::TypedExprKind::Text(bytes) => Ok(bytes),
            _ => self.fail(
                argument.span,
                format!("{what} of `{}` is a text written in the script", call.name),
                "write it in quotes",
            ),
        }
    }

    /// The same as UTF-8.
    pub(super) fn literal_name(&mut self, call: &Call<'_>, index: usize, what: &str) -> Checked<String> {
        let bytes = self.literal_text(call, index, what)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An argument that is a number known when the script is compiled.
    pub(super) fn constant_argument(&mut self, call: &Call<'_>, index: usize, what: &str) -> Checked<i64> {
        let Some(argument) = call.argument(index) else {
            return self.fail(call.span, format!("`{}` needs {what}", call.name), "");
        };
        let value = self.value(argument)?;
        match value.constant() {
            Some(constant) if !matches!(value.ty, Type::Pointer { .. }) => Ok(constant),
            _ => self.fail(
                argument.span,
                format!("{what} of `{}` must be known when the script is compiled", call.name),
                "write a number",
            ),
        }
    }

    /// An argument that is a number.
    pub(super) fn number_argument(&mut self, call: &Call<'_>, index: usize, what: &str) -> Checked<TypedExpr> {
        let Some(argument) = call.argument(index) else {
            return self.fail(call.span, format!("`{}` needs {what}", call.name), "");
        };
        let value = self.value(argument)?;
        match &value.ty {
            ty if super::describe::number(ty).is_some() => Ok(value),
            Type::Pointer { .. } => Ok(value.convert(Type::U64)),
            other => {
                let message =
                    format!("{what} of `{}` is a number, not {}", call.name, super::describe::describe(other));
                let hint = if matches!(other, Type::Text { .. }) { "" } else { "cast it: `(uint64)…`" };
                self.fail(argument.span, message, hint)
            }
        }
    }
}
