//! What is known while a script is checked, and the passes over it.
//!
//! The type of a map follows from its uses in all probes, and that of a variable from all assignments, also later ones (in
//! loops). So the bodies are checked again until nothing new is learned; what a pass learns only ever grows, and counts only
//! what the last pass reports.

use std::collections::{HashMap, HashSet};

use bathyscope_catalog::types::{TypeId, Types};
use bathyscope_plan::{Config, Diagnostic, Severity, Site, Space, Span, Type};

use super::{
    CheckOptions,
    body::{BodyChecker, Hint},
    describe::{Join, join},
    maps::ScriptMaps,
    near::NameHints,
    points::{LayoutGroup, Unit},
};
use crate::lang::{
    Expanded,
    ast::{self, Item},
    hir,
    host::Host,
    limits::MAX_DIAGNOSTICS,
};

/// How often the bodies are checked at most. A chain of maps of which each takes its type from the next, in the wrong order,
/// needs a pass for each.
const MAX_PASSES: usize = 12;
/// After how many times of growing a text takes the largest room at once.
const MAX_GROWTHS: u32 = 4;

/// A variable: the program it is in, where it is declared, its name.
pub(super) type VariableKey = (usize, Span, String);

/// An expression whose type the editor wants to know.
#[derive(Clone, Debug)]
pub(super) enum Watch {
    /// The one with this span.
    Exactly(Span),
    /// The smallest one around this byte.
    Around(u32),
    /// What was found: where, its type, its members with theirs.
    Found { at: Span, ty: String, members: Vec<(String, String)>, wanted: Option<u32> },
}

/// See the module.
pub(super) struct ScriptChecker<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) types: Types,
    pub(super) config: &'a Config,
    pub(super) options: &'a CheckOptions,
    pub(super) script: &'a ast::Script,
    pub(super) text: &'a str,
    c_types: Vec<TypeId>,
    c_numbers: HashMap<TypeId, u32>,
    /// Types of tracepoints' pointers by how their formats name them.
    pub(super) pointers: HashMap<(String, Space), Type>,
    pub(super) maps: ScriptMaps,
    /// Types of variables, as learned so far.
    pub(super) variables: HashMap<VariableKey, Type>,
    growths: HashMap<VariableKey, u32>,
    /// The least types that hold what is assigned to variables, as `sizeof` and `typeof` tell of them. What they are kept in
    /// is larger, so that numbers do not overflow early.
    inferred: HashMap<VariableKey, Type>,
    /// Variables that are used after the block in which they are assigned first, by program and name.
    hoisted: HashSet<(usize, String)>,
    /// Variables that were assigned a number with a sign that is not merely a count.
    pub(super) signed_variables: HashSet<VariableKey>,
    /// Whether there are attach points that do not exist.
    pub(super) has_missing: bool,
    /// Whether this pass learned anything.
    pub(super) changed: bool,
    diagnostics: Vec<Diagnostic>,
    reported: HashSet<(u32, u32, String)>,
    pub(super) sites: Vec<Site>,
    pub(super) sites_at: HashMap<(u32, u32), Vec<u32>>,
    /// What is looked for while the script is checked, and what was found.
    pub(super) watch: Option<Watch>,
    /// Work done, in expressions and statements.
    pub(super) steps: u64,
    /// What `unroll` has made so far, in steps.
    pub(super) unrolled: u64,
    /// How far the wall clock is ahead of the monotonic one, asked once: maps of all passes must agree.
    wall_offset_ns: Option<u64>,
    /// What is said about names that are none.
    pub(super) hints: NameHints,
}

impl<'a> ScriptChecker<'a> {
    pub(super) fn new(expanded: &'a Expanded, text: &'a str, host: &'a dyn Host, options: &'a CheckOptions) -> Self {
        Self {
            host,
            types: host.types().clone(),
            config: &expanded.config,
            options,
            script: &expanded.script,
            text,
            c_types: Vec::new(),
            c_numbers: HashMap::new(),
            pointers: HashMap::new(),
            maps: ScriptMaps::default(),
            variables: HashMap::new(),
            growths: HashMap::new(),
            inferred: HashMap::new(),
            hoisted: HashSet::new(),
            signed_variables: HashSet::new(),
            has_missing: false,
            changed: false,
            diagnostics: Vec::new(),
            reported: HashSet::new(),
            sites: Vec::new(),
            sites_at: HashMap::new(),
            watch: None,
            steps: 0,
            unrolled: 0,
            wall_offset_ns: None,
            hints: NameHints::default(),
        }
    }

    /// The script, checked.
    pub(super) fn run(&mut self, warnings: &[Diagnostic]) -> Result<hir::TypedScript, Vec<Diagnostic>> {
        self.definitions();
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            return Err(std::mem::take(&mut self.diagnostics));
        }
        self.imports();
        self.declare_maps();
        let units = self.units();
        let before = std::mem::take(&mut self.diagnostics);
        let probes = self.passes(&units);
        let maps = self.map_plans();
        let mut diagnostics: Vec<Diagnostic> = warnings.to_vec();
        diagnostics.extend(before);
        diagnostics.append(&mut self.diagnostics);
        diagnostics.sort_by_key(|it| (it.start, it.end));
        if diagnostics.iter().any(|it| it.severity == Severity::Error) {
            // Errors first if not all can be told.
            diagnostics.sort_by_key(|it| it.severity != Severity::Error);
            diagnostics.truncate(MAX_DIAGNOSTICS);
            diagnostics.sort_by_key(|it| (it.start, it.end));
            return Err(diagnostics);
        }
        diagnostics.truncate(MAX_DIAGNOSTICS);
        let sites = std::mem::take(&mut self.sites);
        Ok(hir::TypedScript { probes, maps, sites, config: self.config.clone(), warnings: diagnostics })
    }

    fn passes(&mut self, units: &[Unit<'a>]) -> Vec<hir::TypedProbe> {
        let mut probes = Vec::new();
        for _ in 0..MAX_PASSES {
            self.changed = false;
            self.diagnostics.clear();
            self.reported.clear();
            self.sites.clear();
            self.sites_at.clear();
            self.maps.begin_pass();
            probes = self.pass(units);
            if !self.changed {
                break;
            }
        }
        if self.changed {
            let at = units.first().map(|unit| unit.probe.span).unwrap_or_default();
            self.report(Diagnostic::error(
                at,
                "the types of the script's maps and variables depend on each other in a circle",
            ))
            .hint("cast a value that is assigned to a map to the type that the map should have");
        }
        probes
    }

    fn pass(&mut self, units: &[Unit<'a>]) -> Vec<hir::TypedProbe> {
        let mut probes = Vec::new();
        let mut instance = 0;
        for unit in units {
            for group in &unit.groups {
                let probe = self.group(unit, group, instance);
                instance += 1;
                if !group.shape.unknown {
                    probes.push(probe);
                }
            }
        }
        probes
    }

    fn group(&mut self, unit: &Unit<'a>, group: &LayoutGroup, instance: usize) -> hir::TypedProbe {
        self.has_missing |= group.shape.unknown;
        let mut body = BodyChecker::new(self, &group.shape, instance);
        body.names = group.points.iter().map(|point| point.name.clone()).collect();
        let (predicate, statements) = body.probe(unit.probe);
        let locals = std::mem::take(&mut body.locals);
        hir::TypedProbe {
            points: group.points.clone(),
            context: group.shape.kind.context(),
            locals,
            predicate,
            body: statements,
            span: unit.probe.span,
        }
    }

    /// Keeps a message; the same one at the same place is told once, however often a body is checked.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Hint<'_> {
        if !self.reported.insert((diagnostic.start, diagnostic.end, diagnostic.message.clone())) {
            return Hint(None);
        }
        self.diagnostics.push(diagnostic);
        Hint(self.diagnostics.last_mut())
    }

    /// How many nanoseconds the wall clock is ahead of the monotonic one.
    pub(super) fn wall_offset_ns(&mut self) -> u64 {
        *self.wall_offset_ns.get_or_insert_with(|| self.host.wall_offset_ns())
    }

    /// Whether any error was reported in this pass.
    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }

    /// From the next pass on, a variable is one of the whole probe.
    pub(super) fn hoist(&mut self, instance: usize, name: &str) {
        self.changed |= self.hoisted.insert((instance, name.to_owned()));
    }

    /// Whether a variable is one of the whole probe.
    pub(super) fn is_hoisted(&self, instance: usize, name: &str) -> bool {
        self.hoisted.contains(&(instance, name.to_owned()))
    }

    /// Remembers the type of a variable for the next pass.
    pub(super) fn learn_variable(&mut self, key: VariableKey, ty: Type) {
        let known = self.variables.get(&key);
        // What was taken for signed only because nothing said otherwise is not.
        let replaced = known == Some(&Type::I64) && ty == Type::U64;
        let mut joined = match known.map(|known| join(known, &ty)) {
            Some(Join::To(ty) | Join::Lossy(ty)) if !replaced => ty,
            _ => ty,
        };
        if known != Some(&joined) {
            let growths = self.growths.entry(key.clone()).or_default();
            *growths += 1;
            if let (Type::Text { bytes }, true) = (&mut joined, *growths > MAX_GROWTHS) {
                *bytes = self.config.max_strlen.saturating_add(1).max(*bytes);
            }
            self.variables.insert(key, joined);
            self.changed = true;
        }
    }

    /// Remembers what a variable was assigned, for [`ScriptChecker::inferred`].
    pub(super) fn infer_variable(&mut self, key: VariableKey, ty: &Type) {
        let known = self.inferred.get(&key);
        let joined = inferred(known, ty);
        if known != Some(&joined) {
            self.inferred.insert(key, joined);
            self.changed = true;
        }
    }

    /// The least type that holds all that a variable is assigned.
    pub(super) fn inferred(&self, key: &VariableKey) -> Option<Type> {
        self.inferred.get(key).cloned()
    }

    /// The number of a C type in the checked script.
    pub(super) fn number_of(&mut self, id: TypeId) -> u32 {
        if let Some(number) = self.c_numbers.get(&id) {
            return *number;
        }
        let number = u32::try_from(self.c_types.len()).unwrap_or(u32::MAX);
        self.c_types.push(id);
        self.c_numbers.insert(id, number);
        number
    }

    /// The C type with a number.
    pub(super) fn c_type_of(&self, number: u32) -> TypeId {
        self.c_types.get(number as usize).copied().unwrap_or(TypeId::VOID)
    }

    fn definitions(&mut self) {
        let constants: HashMap<&str, i64> = self
            .script
            .defines
            .iter()
            .filter_map(|define| Some((define.name.text.as_str(), constant_of(define.value.as_ref()?)?)))
            .collect();
        for span in &self.script.definitions {
            // What is wrong with more of them is not told, and what near names there are would be looked for.
            if self.diagnostics.len() >= MAX_DIAGNOSTICS {
                return;
            }
            let text = crate::lang::definition_text(self.script, self.text, *span);
            if let Err(error) = self.types.define(&text, &|name| constants.get(name).copied()) {
                let at =
                    |offset: usize| span.start.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX)).min(span.end);
                let place = Span { start: at(error.at.start), end: at(error.at.end) };
                let hint = error.suggestion.clone().unwrap_or_default();
                self.report(Diagnostic::error(place, error.message)).hint(hint);
            }
        }
    }

    fn imports(&mut self) {
        for import in &self.script.imports {
            self.report(Diagnostic::error(import.span, format!("`import \"{}\"` is not supported", import.text)))
                .hint("put the macros and probes into this script; the functions of the standard library are built in");
        }
    }

    fn units(&mut self) -> Vec<Unit<'a>> {
        let script = self.script;
        let probes: Vec<&'a ast::Probe> = script
            .items
            .iter()
            .filter_map(|item| if let Item::Probe(probe) = item { Some(probe) } else { None })
            .collect();
        if probes.is_empty() {
            let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.report(Diagnostic::error(Span { start: 0, end }, "the script has no probes"))
                .hint("write one: `begin { printf(\"hello\\n\"); }`");
        }
        self.find_points(&probes)
    }
}

/// The least type that holds what was assigned before and this.
pub(super) fn inferred(known: Option<&Type>, ty: &Type) -> Type {
    let Some(known) = known else { return ty.clone() };
    match join(known, ty) {
        Join::To(ty) | Join::Lossy(ty) => ty,
        // What does not come together is told where it is assigned.
        Join::Never => known.clone(),
    }
}

/// The value of a `#define` that is a number.
fn constant_of(expr: &ast::Expr) -> Option<i64> {
    match &expr.kind {
        ast::ExprKind::Integer { value, .. } => Some(value.cast_signed()),
        ast::ExprKind::Bool(value) => Some(i64::from(*value)),
        ast::ExprKind::Unary { op: ast::UnaryOp::Negate, of } => constant_of(of).map(i64::wrapping_neg),
        _ => None,
    }
}
