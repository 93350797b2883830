//! Macros, `#define`s, positional parameters and `getopt()` in the tree are replaced by what they mean.
//!
//! A macro is replaced by its body as a block. Its own variables get names that the script does not use; its parameters
//! stand for the arguments: variables and maps by name, expressions each time they are used.

mod calls;

use std::collections::{HashMap, HashSet};

use bathyscope_plan::{Diagnostic, Span};
use calls::{kind_of, name_of};

use super::{
    super::{
        ast::{
            Block, Define, Expr, ExprKind, Item, Macro, MapDeclaration, Name, PathStep, Probe, Script, Setting,
            Statement, StatementKind, TypeBase, TypeSuffix, TypeText,
        },
        limits::{MAX_DIAGNOSTICS, MAX_EXPANDED_NODES, MAX_TREE_DEPTH},
        syntax,
    },
    params::{self, Params},
    walk,
};

/// What names mean in the text that is being expanded.
#[derive(Debug, Default)]
struct Scope<'a, 's> {
    /// The macro whose body this is; none in probes.
    of: Option<&'a Macro>,
    /// Its parameters that are expressions.
    expressions: HashMap<&'a str, MacroArgument<'a, 's>>,
    /// What its variables, own and given, are called.
    variables: HashMap<&'a str, String>,
    /// What the maps given to it are called.
    maps: HashMap<&'a str, String>,
}

/// An argument that is expanded where it is used, but in the scope of the call.
#[derive(Clone, Copy, Debug)]
struct MacroArgument<'a, 's> {
    expr: &'a Expr,
    scope: &'s Scope<'a, 's>,
    /// How long the chain of macros was at the call.
    chain: usize,
}

/// Expands one script.
pub(super) struct Expander<'a> {
    macros: HashMap<&'a str, Vec<&'a Macro>>,
    defines: HashMap<&'a str, &'a Define>,
    params: &'a Params,
    /// Names of variables that are taken.
    variables: HashSet<String>,
    /// Names of macros and `#define`s within which the present text stands, outermost first.
    chain: Vec<&'a Name>,
    nodes: usize,
    depth: u32,
    /// Variables named so far.
    named: usize,
    /// Whether a limit was passed, so that nothing more is to be made.
    full: bool,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(script: &'a Script, params: &'a Params) -> Self {
        let mut macros: HashMap<&str, Vec<&Macro>> = HashMap::new();
        for item in &script.items {
            if let Item::Macro(item) = item {
                macros.entry(&item.name.text).or_default().push(item);
            }
        }
        let mut variables = HashSet::new();
        walk::script(script, &mut |part| {
            if let walk::VisitedNode::Variable(name) = part {
                variables.insert(name.to_owned());
            }
        });
        let defines = script.defines.iter().map(|it| (it.name.text.as_str(), it)).collect();
        let (chain, errors) = (Vec::new(), Vec::new());
        Self { macros, defines, params, variables, chain, nodes: 0, depth: 0, named: 0, full: false, errors }
    }

    /// The settings with their values expanded.
    pub(super) fn settings(&mut self, settings: &'a [Setting]) -> Vec<Setting> {
        let scope = Scope::default();
        settings.iter().map(|it| Setting { name: it.name.clone(), value: self.expr(&it.value, &scope) }).collect()
    }

    /// The probes and maps, expanded.
    pub(super) fn items(&mut self, items: &'a [Item]) -> Vec<Item> {
        self.check_signatures();
        let scope = Scope::default();
        let mut expanded = Vec::new();
        for item in items {
            match item {
                Item::Probe(probe) => expanded.push(Item::Probe(self.probe(probe, &scope))),
                Item::Map(map) => {
                    let entries = self.expr(&map.entries, &scope);
                    expanded.push(Item::Map(MapDeclaration { entries, ..map.clone() }));
                }
                Item::Macro(_) => {}
            }
        }
        expanded
    }

    fn probe(&mut self, probe: &'a Probe, scope: &Scope<'a, '_>) -> Probe {
        let mut points = Vec::new();
        for point in &probe.points {
            if !point.text.contains('$') {
                points.push(point.clone());
                continue;
            }
            match syntax::with_parameters(point, &self.params.positional) {
                Ok(point) => points.push(point),
                Err(trouble) => self.report(*trouble),
            }
        }
        let predicate = probe.predicate.as_ref().map(|it| self.expr(it, scope));
        Probe { points, predicate, body: self.block(&probe.body, scope), span: probe.span }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.errors.len() < MAX_DIAGNOSTICS && !self.errors.contains(&diagnostic) {
            self.errors.push(diagnostic);
        }
    }

    /// Counts a node; whether it may be made.
    fn counts(&mut self, span: Span) -> bool {
        self.nodes += 1;
        if self.full {
            return false;
        }
        let message = if self.nodes > MAX_EXPANDED_NODES {
            format!("the script has more than {MAX_EXPANDED_NODES} parts after its macros are put in")
        } else if self.depth >= MAX_TREE_DEPTH {
            format!("this is nested more than {MAX_TREE_DEPTH} levels deep after macros are put in")
        } else {
            return true;
        };
        self.full = true;
        let hint = self.chain.first().map_or_else(String::new, |it| format!("it comes from `{}`", it.text));
        self.report(Diagnostic::error(span, message).hint(hint));
        false
    }

    /// Two macros of one name and the same parameters cannot be told apart.
    fn check_signatures(&mut self) {
        let kinds = |it: &Macro| -> Vec<u8> { it.parameters.iter().map(kind_of).collect() };
        let mut twice = Vec::new();
        for same in self.macros.values() {
            for (index, item) in same.iter().enumerate() {
                let known = same.iter().take(index.min(64)).any(|it| kinds(it) == kinds(item));
                if known {
                    let message = format!("the macro `{}` is defined twice with such parameters", item.name.text);
                    twice.push(Diagnostic::error(item.name.span, message));
                }
                let names: Vec<&Name> = item.parameters.iter().map(name_of).collect();
                for (index, name) in names.iter().enumerate() {
                    if names.iter().take(index).any(|it| it.text == name.text) {
                        let message = format!("the macro has two parameters `{}`", name.text);
                        twice.push(Diagnostic::error(name.span, message));
                    }
                }
            }
        }
        twice.sort_by_key(|it| it.start);
        twice.into_iter().for_each(|it| self.report(it));
    }

    fn block(&mut self, block: &'a Block, scope: &Scope<'a, '_>) -> Block {
        if !self.counts(block.span) {
            return Block { span: block.span, ..Block::default() };
        }
        self.depth += 1;
        let mut statements = Vec::with_capacity(block.statements.len());
        for statement in &block.statements {
            let kind = self.statement(&statement.kind, scope);
            statements.push(Statement { kind, span: statement.span });
        }
        let value = block.value.as_ref().map(|it| Box::new(self.expr(it, scope)));
        self.depth -= 1;
        Block { statements, value, span: block.span, called: block.called }
    }

    fn statement(&mut self, kind: &'a StatementKind, scope: &Scope<'a, '_>) -> StatementKind {
        match kind {
            StatementKind::Expression(expr) => self.expression_statement(expr, scope),
            StatementKind::Let { variable, ty, value } => {
                let ty = ty.as_ref().map(|it| self.ty(it, scope));
                let value = value.as_ref().map(|it| self.expr(it, scope));
                StatementKind::Let { variable: self.variable(variable, scope), ty, value }
            }
            StatementKind::Assign { place, op, value } => {
                let value = self.expr(value, scope);
                let discard = matches!(&place.kind, ExprKind::Identifier(name) if name == "_");
                let place = if discard { place.clone() } else { self.expr(place, scope) };
                StatementKind::Assign { place, op: *op, value }
            }
            StatementKind::If { condition, comptime, then, otherwise } => StatementKind::If {
                condition: self.expr(condition, scope),
                comptime: *comptime,
                then: self.block(then, scope),
                otherwise: otherwise.as_ref().map(|it| self.block(it, scope)),
            },
            StatementKind::Unroll { count, body } => {
                StatementKind::Unroll { count: self.expr(count, scope), body: self.block(body, scope) }
            }
            StatementKind::While { condition, body } => {
                StatementKind::While { condition: self.expr(condition, scope), body: self.block(body, scope) }
            }
            StatementKind::ForRange { variable, first, end, body } => StatementKind::ForRange {
                variable: self.variable(variable, scope),
                first: self.expr(first, scope),
                end: self.expr(end, scope),
                body: self.block(body, scope),
            },
            StatementKind::ForMap { variable, map, body } => StatementKind::ForMap {
                variable: self.variable(variable, scope),
                map: Name { text: self.map_name(&map.text, map.span, scope), span: map.span },
                body: self.block(body, scope),
            },
            StatementKind::Return(value) => StatementKind::Return(value.as_ref().map(|it| self.expr(it, scope))),
            StatementKind::Block(block) => StatementKind::Block(self.block(block, scope)),
            StatementKind::Break | StatementKind::Continue => kind.clone(),
        }
    }

    /// A macro that stands alone need not have a value.
    fn expression_statement(&mut self, expr: &'a Expr, scope: &Scope<'a, '_>) -> StatementKind {
        let value = Some(Box::new(self.expr_or_nothing(expr, scope)));
        let mut block = Block { value, ..Block::default() };
        syntax::without_value(&mut block);
        block.statements.pop().map_or(StatementKind::Block(block), |it| it.kind)
    }

    fn variable(&mut self, name: &Name, scope: &Scope<'a, '_>) -> Name {
        Name { text: self.variable_name(&name.text, name.span, scope), span: name.span }
    }

    fn variable_name(&mut self, name: &str, span: Span, scope: &Scope<'a, '_>) -> String {
        let Some(of) = scope.of else { return name.to_owned() };
        if let Some(present) = scope.variables.get(name) {
            return present.clone();
        }
        let message = format!("the macro `{}` uses `${name}`, which it neither sets nor is given", of.name.text);
        let hint = format!("add `${name}` to its parameters");
        self.report(Diagnostic::error(span, message).hint(hint));
        name.to_owned()
    }

    fn map_name(&mut self, name: &str, span: Span, scope: &Scope<'a, '_>) -> String {
        let Some(of) = scope.of else { return name.to_owned() };
        if let Some(present) = scope.maps.get(name) {
            return present.clone();
        }
        let message = format!("the macro `{}` uses the map `@{name}`, which it is not given", of.name.text);
        self.report(Diagnostic::error(span, message).hint(format!("add `@{name}` to its parameters")));
        name.to_owned()
    }

    fn ty(&mut self, ty: &'a TypeText, scope: &Scope<'a, '_>) -> TypeText {
        let base = match &ty.base {
            TypeBase::Of(of) => TypeBase::Of(Box::new(self.expr(of, scope))),
            other => other.clone(),
        };
        let suffix = |suffix: &'a TypeSuffix| match suffix {
            TypeSuffix::Array(Some(count)) => TypeSuffix::Array(Some(self.expr(count, scope))),
            other => other.clone(),
        };
        TypeText { base, suffixes: ty.suffixes.iter().map(suffix).collect(), span: ty.span }
    }

    fn list(&mut self, list: &'a [Expr], scope: &Scope<'a, '_>) -> Vec<Expr> {
        list.iter().map(|it| self.expr(it, scope)).collect()
    }

    fn boxed(&mut self, expr: &'a Expr, scope: &Scope<'a, '_>) -> Box<Expr> {
        Box::new(self.expr(expr, scope))
    }

    /// An expression of which a value is needed.
    fn expr(&mut self, expr: &'a Expr, scope: &Scope<'a, '_>) -> Expr {
        let expanded = self.expr_or_nothing(expr, scope);
        if let ExprKind::Block(block) = &expanded.kind
            && block.value.is_none()
            && !self.full
            && let ExprKind::Call { function: Name { text: name, .. }, .. } | ExprKind::Identifier(name) = &expr.kind
        {
            let message = format!("the macro `{name}` has no value, and one is needed here");
            let hint = "its value is a last expression without `;`";
            self.report(Diagnostic::error(expr.span, message).hint(hint));
        }
        expanded
    }

    fn expr_or_nothing(&mut self, expr: &'a Expr, scope: &Scope<'a, '_>) -> Expr {
        if !self.counts(expr.span) {
            return Expr { kind: ExprKind::Bool(false), span: expr.span };
        }
        self.depth += 1;
        let expanded = match &expr.kind {
            ExprKind::Identifier(name) => self.identifier(name, expr, scope),
            ExprKind::Call { function, arguments } => self.call(function, arguments, expr, scope),
            ExprKind::Positional(number) => self.positional(*number, expr.span),
            kind => Expr { kind: self.parts(kind, expr.span, scope), span: expr.span },
        };
        self.depth -= 1;
        expanded
    }

    /// An expression that stays what it is, with its parts expanded.
    fn parts(&mut self, kind: &'a ExprKind, span: Span, scope: &Scope<'a, '_>) -> ExprKind {
        match kind {
            ExprKind::PositionalCount => {
                let value = self.params.positional.len() as u64;
                ExprKind::Integer { value, unsigned: false }
            }
            ExprKind::Variable(name) => ExprKind::Variable(self.variable_name(name, span, scope)),
            ExprKind::Map { name, keys } => {
                ExprKind::Map { name: self.map_name(name, span, scope), keys: self.list(keys, scope) }
            }
            ExprKind::Unary { op, of } => ExprKind::Unary { op: *op, of: self.boxed(of, scope) },
            ExprKind::Step { place, add, prefix } => {
                ExprKind::Step { place: self.boxed(place, scope), add: *add, prefix: *prefix }
            }
            ExprKind::Binary { op, left, right } => {
                ExprKind::Binary { op: *op, left: self.boxed(left, scope), right: self.boxed(right, scope) }
            }
            ExprKind::Ternary { condition, then, otherwise } => ExprKind::Ternary {
                condition: self.boxed(condition, scope),
                then: then.as_ref().map(|it| self.boxed(it, scope)),
                otherwise: self.boxed(otherwise, scope),
            },
            ExprKind::If { condition, comptime, then, otherwise } => ExprKind::If {
                condition: self.boxed(condition, scope),
                comptime: *comptime,
                then: self.block(then, scope),
                otherwise: otherwise.as_ref().map(|it| self.block(it, scope)),
            },
            ExprKind::Cast { ty, of } => ExprKind::Cast { ty: self.ty(ty, scope), of: self.boxed(of, scope) },
            ExprKind::Member { base, name } => ExprKind::Member { base: self.boxed(base, scope), name: name.clone() },
            ExprKind::Element { base, index } => ExprKind::Element { base: self.boxed(base, scope), index: *index },
            ExprKind::Index { base, index } => {
                ExprKind::Index { base: self.boxed(base, scope), index: self.boxed(index, scope) }
            }
            ExprKind::Tuple(parts) => ExprKind::Tuple(self.list(parts, scope)),
            ExprKind::Record(fields) => {
                ExprKind::Record(fields.iter().map(|(name, it)| (name.clone(), self.expr(it, scope))).collect())
            }
            ExprKind::SizeOf(ty) => ExprKind::SizeOf(self.ty(ty, scope)),
            ExprKind::Type(ty) => ExprKind::Type(self.ty(ty, scope)),
            ExprKind::OffsetOf { ty, path } => {
                let step = |it: &'a PathStep| match it {
                    PathStep::Index(index) => PathStep::Index(self.expr(index, scope)),
                    PathStep::Member(name) => PathStep::Member(name.clone()),
                };
                let path = path.iter().map(step).collect();
                ExprKind::OffsetOf { ty: self.ty(ty, scope), path }
            }
            ExprKind::Block(block) => ExprKind::Block(self.block(block, scope)),
            literal => literal.clone(),
        }
    }
}
