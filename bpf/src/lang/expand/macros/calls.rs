//! What names and calls stand for: arguments, macros, `#define`s, parameters, options.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::super::{
        ast::{BinaryOp, Block, Define, Expr, ExprKind, Macro, MacroParameter, Name},
        limits::MAX_EXPANSION_DEPTH,
    },
    Expander, MacroArgument, Scope, params, walk,
};

impl<'a> Expander<'a> {
    pub(super) fn identifier(&mut self, name: &'a str, expr: &'a Expr, scope: &Scope<'a, '_>) -> Expr {
        if let Some(argument) = scope.expressions.get(name) {
            let chain = self.chain.split_off(argument.chain);
            let expanded = self.expr_or_nothing(argument.expr, argument.scope);
            self.chain.extend(chain);
            return expanded;
        }
        if self.macros.contains_key(name) {
            return self.macro_call(name, &[], expr.span, scope);
        }
        match self.defines.get(name) {
            Some(define) => self.define(define, expr.span),
            None => expr.clone(),
        }
    }

    fn define(&mut self, define: &'a Define, span: Span) -> Expr {
        let nothing = Expr { kind: ExprKind::Bool(false), span };
        let Some(value) = &define.value else {
            let message = format!("`#define {}` has no value that could stand here", define.name.text);
            self.report(Diagnostic::error(span, message));
            return nothing;
        };
        if !self.enters(&define.name, span) {
            return nothing;
        }
        let expanded = self.expr(value, &Scope::default());
        self.chain.pop();
        Expr { span, ..expanded }
    }

    /// Puts a name on the chain, or reports that it cannot be.
    fn enters(&mut self, name: &'a Name, span: Span) -> bool {
        let known = self.chain.contains(&name);
        if !known && self.chain.len() < MAX_EXPANSION_DEPTH {
            self.chain.push(name);
            return true;
        }
        let message = if known {
            let names: Vec<&str> = self.chain.iter().skip_while(|it| **it != name).map(|it| it.text.as_str()).collect();
            format!("`{}` is defined by itself: {} → {}", name.text, names.join(" → "), name.text)
        } else {
            format!("more than {MAX_EXPANSION_DEPTH} macros are used within each other")
        };
        let place = if known { name.span } else { span };
        self.report(Diagnostic::error(place, message));
        false
    }

    pub(super) fn call(
        &mut self,
        function: &'a Name,
        arguments: &'a [Expr],
        expr: &'a Expr,
        scope: &Scope<'a, '_>,
    ) -> Expr {
        let name = function.text.as_str();
        if self.macros.contains_key(name) {
            return self.macro_call(name, arguments, without_parentheses(expr.span, function.span), scope);
        }
        if name == "str"
            && let [first, rest @ ..] = arguments
            && let ExprKind::Positional(number) = resolve(first, scope).kind
        {
            return self.positional_text(number, 0, rest, expr, scope);
        }
        // From a character of the parameter on.
        if name == "str"
            && let [first, rest @ ..] = arguments
            && let ExprKind::Binary { op: BinaryOp::Add, left, right } = &resolve(first, scope).kind
            && let ExprKind::Positional(number) = resolve(left, scope).kind
            && let Some(skipped) = params::literal(resolve(right, scope)).and_then(|it| usize::try_from(it).ok())
        {
            return self.positional_text(number, skipped, rest, expr, scope);
        }
        let arguments = self.list(arguments, scope);
        if name == "getopt" {
            return self.option(expr, &arguments);
        }
        Expr { kind: ExprKind::Call { function: function.clone(), arguments }, span: expr.span }
    }

    fn option(&mut self, call: &Expr, arguments: &[Expr]) -> Expr {
        let value = params::option(call, arguments).and_then(|option| {
            let given = self.params.named.iter().rev().find(|(name, _)| *name == option.name);
            params::value(&option, given.map(|(_, value)| value), call.span)
        });
        value.unwrap_or_else(|trouble| {
            self.report(trouble);
            Expr { kind: ExprKind::Bool(false), span: call.span }
        })
    }

    /// `$1` where a value is needed.
    pub(super) fn positional(&mut self, number: u32, span: Span) -> Expr {
        match self.params.positional(number) {
            None => params::integer_expr(0, span),
            Some(text) => match params::integer(text) {
                Some(value) => params::integer_expr(value, span),
                None => Expr { kind: ExprKind::Text(text.as_bytes().to_vec()), span },
            },
        }
    }

    /// `str($1)`, with the greatest length or not.
    fn positional_text(
        &mut self,
        number: u32,
        skipped: usize,
        rest: &'a [Expr],
        call: &'a Expr,
        scope: &Scope<'a, '_>,
    ) -> Expr {
        let given = self.params.positional(number).unwrap_or_default().as_bytes();
        let mut text = given.get(skipped..).unwrap_or_default().to_vec();
        if let Some(room) = rest.first() {
            let room = self.expr(room, scope);
            match params::literal(&room).and_then(|it| usize::try_from(it).ok()) {
                // Of a text, and not of an address, the length counts what is shown.
                Some(room) => text.truncate(room),
                None => self.report(Diagnostic::error(room.span, "the room of a parameter's text must be a number")),
            }
        }
        Expr { kind: ExprKind::Text(text), span: call.span }
    }

    fn macro_call(&mut self, name: &str, arguments: &'a [Expr], span: Span, scope: &Scope<'a, '_>) -> Expr {
        let nothing = Expr { kind: ExprKind::Bool(false), span };
        let same = self.macros.get(name).cloned().unwrap_or_default();
        let Some(item) = same.iter().copied().find(|it| fits(it, arguments, scope)) else {
            if let Some(function) = scope_free_call(name, arguments) {
                let arguments = self.list(arguments, scope);
                return Expr { kind: ExprKind::Call { function, arguments }, span };
            }
            let message = format!("the macro `{name}` does not take these arguments");
            let forms: Vec<String> = same.iter().take(8).map(|it| format!("`{}`", form(it))).collect();
            self.report(Diagnostic::error(span, message).hint(format!("it is {}", forms.join(" or "))));
            return nothing;
        };
        if !self.enters(&item.name, span) {
            return nothing;
        }
        let inner = self.scope_of(item, arguments, scope);
        let mut body = self.block(&item.body, &inner);
        self.chain.pop();
        match (body.statements.as_slice(), body.value.take()) {
            ([], Some(value)) if !tells_place(&value) => Expr { kind: value.kind, span },
            (_, value) => Expr { kind: ExprKind::Block(Block { value, span, called: Some(span), ..body }), span },
        }
    }

    /// What names mean in the body of `item` when it is called with `arguments`.
    fn scope_of<'s>(&mut self, item: &'a Macro, arguments: &'a [Expr], scope: &'s Scope<'a, 's>) -> Scope<'a, 's> {
        let mut inner = Scope { of: Some(item), ..Scope::default() };
        for (parameter, argument) in item.parameters.iter().zip(arguments) {
            let resolved = resolve(argument, scope);
            match (parameter, &resolved.kind) {
                (MacroParameter::Variable(name), ExprKind::Variable(given)) => {
                    let given = scope.variables.get(given.as_str()).unwrap_or(given);
                    inner.variables.insert(&name.text, given.clone());
                }
                (MacroParameter::Map(name), ExprKind::Map { name: given, .. }) => {
                    let given = scope.maps.get(given.as_str()).unwrap_or(given);
                    inner.maps.insert(&name.text, given.clone());
                }
                (parameter, _) => {
                    // The chain has the macro itself already.
                    let chain = self.chain.len() - 1;
                    inner.expressions.insert(&name_of(parameter).text, MacroArgument { expr: argument, scope, chain });
                }
            }
        }
        walk::block(&item.body, &mut |part| {
            if let walk::VisitedNode::Variable(name) = part
                && !inner.variables.contains_key(name)
            {
                inner.variables.insert(name, self.fresh(name));
            }
        });
        inner
    }

    /// A name for a macro's own variable that nothing else has.
    fn fresh(&mut self, name: &str) -> String {
        loop {
            self.named += 1;
            let fresh = format!("{name}__{}", self.named);
            if self.variables.insert(fresh.clone()) {
                return fresh;
            }
        }
    }
}

/// The span of a call that begins with this name: what stands in parentheses has them in its own.
fn without_parentheses(whole: Span, name: Span) -> Span {
    let around = name.start.saturating_sub(whole.start);
    Span { start: name.start, end: whole.end.saturating_sub(around).max(name.end) }
}

/// Whether what is shown of an expression tells where it stands, and from which call of a macro it comes.
fn tells_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { function, .. } => ["errorf", "warnf", "debugf"].contains(&function.text.as_str()),
        ExprKind::Block(block) => block.called.is_some(),
        _ => false,
    }
}

/// The expression that a parameter stands for in the end.
fn resolve<'a>(expr: &'a Expr, scope: &Scope<'a, '_>) -> &'a Expr {
    let (mut expr, mut scope) = (expr, scope);
    while let ExprKind::Identifier(name) = &expr.kind
        && let Some(argument) = scope.expressions.get(name.as_str())
    {
        (expr, scope) = (argument.expr, argument.scope);
    }
    expr
}

pub(super) fn name_of(parameter: &MacroParameter) -> &Name {
    match parameter {
        MacroParameter::Expression(name) | MacroParameter::Variable(name) | MacroParameter::Map(name) => name,
    }
}

pub(super) fn kind_of(parameter: &MacroParameter) -> u8 {
    match parameter {
        MacroParameter::Expression(_) => 0,
        MacroParameter::Variable(_) => 1,
        MacroParameter::Map(_) => 2,
    }
}

/// Whether a macro can be called with `arguments`.
fn fits<'a>(item: &Macro, arguments: &'a [Expr], scope: &Scope<'a, '_>) -> bool {
    let fits = |(parameter, argument): (&MacroParameter, &'a Expr)| match parameter {
        MacroParameter::Expression(_) => true,
        MacroParameter::Variable(_) => matches!(resolve(argument, scope).kind, ExprKind::Variable(_)),
        MacroParameter::Map(_) => {
            matches!(&resolve(argument, scope).kind, ExprKind::Map { keys, .. } if keys.is_empty())
        }
    };
    item.parameters.len() == arguments.len() && item.parameters.iter().zip(arguments).all(fits)
}

/// How a macro is called.
fn form(item: &Macro) -> String {
    let parameters: Vec<String> = item
        .parameters
        .iter()
        .map(|it| match it {
            MacroParameter::Expression(name) => name.text.clone(),
            MacroParameter::Variable(name) => format!("${}", name.text),
            MacroParameter::Map(name) => format!("@{}", name.text),
        })
        .collect();
    format!("{}({})", item.name.text, parameters.join(", "))
}

/// A call of a function of the language that has a macro's name too, for arguments that no macro takes.
fn scope_free_call(name: &str, arguments: &[Expr]) -> Option<Name> {
    let known = crate::lang::reference().iter().any(|function| function.name == name);
    let span = arguments.first().map(|argument| argument.span).unwrap_or_default();
    known.then(|| Name { text: name.to_owned(), span })
}
