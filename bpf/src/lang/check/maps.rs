//! The script's maps: what their keys and values are, as learned from all of their uses, and how they are kept.

use std::collections::HashMap;

use bathyscope_plan::{Aggregation, Diagnostic, MapPlan, MapType, Span, Type, layout};

use super::{
    Checked, Failed,
    body::{BodyChecker, is_natural},
    checker::ScriptChecker,
    describe::{Join, aggregation_name, describe, number},
};
use crate::lang::{
    ast::{self, Item},
    hir::{MapRead, ScriptMapId, TypedExpr, TypedExprKind},
};

/// The most entries of a map.
const MAX_ENTRIES: u64 = 1 << 24;
/// The most bytes of a key; the kernel takes no more than this and the key's hash besides.
const MAX_KEY_BYTES: u32 = 16 * 1024;
/// The most bytes of a value on one CPU.
const MAX_VALUE_BYTES: u32 = 32 * 1024;
/// After how many times of growing a text takes the largest room at once.
const MAX_GROWTHS: u32 = 4;

/// A map.
#[derive(Clone, Debug)]
pub(super) struct ScriptMap {
    pub(super) name: String,
    /// Its key's parts; none while unknown, empty for a map of one element.
    pub(super) key: Option<Vec<Type>>,
    pub(super) key_at: Span,
    /// What it holds; none while unknown.
    pub(super) value: Option<Type>,
    pub(super) value_at: Span,
    /// The least type that holds what is put in.
    inferred: Option<Type>,
    pub(super) declared: Option<(MapType, u32)>,
    at: Span,
    growths: u32,
    /// Whether a number with a sign was put in that is not merely a count.
    signed: bool,
    /// Whether what is put in is wrong, which was told.
    doubtful: bool,
}

/// All maps, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct ScriptMaps {
    pub(super) all: Vec<ScriptMap>,
    by_name: HashMap<String, ScriptMapId>,
}

impl ScriptMaps {
    pub(super) fn begin_pass(&mut self) {
        self.all.iter_mut().for_each(|map| map.doubtful = false);
    }

    fn id(&mut self, name: &str, at: Span) -> ScriptMapId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = ScriptMapId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(ScriptMap {
            name: format!("@{name}"),
            key: None,
            key_at: at,
            value: None,
            value_at: at,
            inferred: None,
            declared: None,
            at,
            growths: 0,
            signed: false,
            doubtful: false,
        });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// The least type that holds what is put into a map.
    pub(super) fn inferred(&self, name: &str) -> Option<Type> {
        self.get(*self.by_name.get(name)?)?.inferred.clone()
    }

    /// A map that was met before.
    pub(super) fn get(&self, id: ScriptMapId) -> Option<&ScriptMap> {
        self.all.get(id.0 as usize)
    }

    fn get_mut(&mut self, id: ScriptMapId) -> Option<&mut ScriptMap> {
        self.all.get_mut(id.0 as usize)
    }
}

/// A map and its key, evaluated.
#[derive(Clone, Debug)]
pub(super) struct MapElement {
    pub(super) map: ScriptMapId,
    pub(super) key: Option<TypedExpr>,
    pub(super) span: Span,
}

impl ScriptChecker<'_> {
    pub(super) fn declare_maps(&mut self) {
        let script = self.script;
        for item in &script.items {
            let Item::Map(declaration) = item else { continue };
            let kind = match declaration.kind.text.as_str() {
                "hash" => MapType::Hash,
                "lruhash" => MapType::LruHash,
                "percpuhash" => MapType::PerCpuHash,
                "percpulruhash" => MapType::PerCpuLruHash,
                "percpuarray" => MapType::PerCpuArray,
                other => {
                    let known = ["hash", "lruhash", "percpuhash", "percpulruhash", "percpuarray"];
                    let hint = self.hints.about("kind of map", other, || {
                        crate::lang::suggest(other, known).map_or_else(
                            || format!("there are {}", known.join(", ")),
                            |it| format!("did you mean `{it}`?"),
                        )
                    });
                    let message = format!("there is no kind of map `{other}`");
                    self.report(Diagnostic::error(declaration.kind.span, message)).hint(hint);
                    continue;
                }
            };
            let entries = match declaration.entries.kind {
                ast::ExprKind::Integer { value, .. } if (1..=MAX_ENTRIES).contains(&value) => value,
                _ => {
                    let message = format!("the size of a map is a number from 1 to {MAX_ENTRIES}");
                    self.report(Diagnostic::error(declaration.entries.span, message)).hint("");
                    continue;
                }
            };
            let id = self.maps.id(&declaration.map.text, declaration.span);
            let twice = self.maps.get(id).is_some_and(|map| map.declared.is_some());
            if twice {
                let message = format!("@{} is declared twice", declaration.map.text);
                self.report(Diagnostic::error(declaration.span, message)).hint("remove one of the declarations");
            }
            if let Some(map) = self.maps.get_mut(id) {
                map.declared = Some((kind, u32::try_from(entries).unwrap_or(u32::MAX)));
            }
        }
    }

    pub(super) fn learn_key(&mut self, id: ScriptMapId, parts: Vec<Type>, at: Span) {
        let limit = self.config.max_strlen;
        let Some(map) = self.maps.get_mut(id) else { return };
        if map.key.as_ref() == Some(&parts) {
            return;
        }
        if map.key.is_none() {
            map.key_at = at;
        }
        map.growths += 1;
        let mut parts = parts;
        if map.growths > MAX_GROWTHS {
            parts.iter_mut().for_each(|part| widen(part, limit));
        }
        map.key = Some(parts);
        self.changed = true;
    }

    fn learn_value(&mut self, id: ScriptMapId, ty: Type, at: Span) {
        let limit = self.config.max_strlen;
        let Some(map) = self.maps.get_mut(id) else { return };
        if map.value.as_ref() == Some(&ty) {
            return;
        }
        if map.value.is_none() {
            map.value_at = at;
        }
        map.growths += 1;
        let mut ty = ty;
        if map.growths > MAX_GROWTHS {
            widen(&mut ty, limit);
        }
        map.value = Some(ty);
        self.changed = true;
    }

    /// The maps as the plan has them.
    pub(super) fn map_plans(&mut self) -> Vec<MapPlan> {
        let maps = std::mem::take(&mut self.maps.all);
        let plans = maps.iter().enumerate().map(|(index, map)| self.map_plan(index, map)).collect();
        self.maps.all = maps;
        plans
    }

    fn map_plan(&mut self, index: usize, map: &ScriptMap) -> MapPlan {
        let key: Vec<Type> = map.key.clone().unwrap_or_default().iter().map(|ty| self.shown_type(ty)).collect();
        let value = self.shown_type(&map.value.clone().unwrap_or(Type::I64));
        let aggregation = if let Type::Aggregate(it) = &value { Some(it) } else { None };
        let sparse = aggregation.is_some_and(Aggregation::is_sparse);
        let scalar = key.is_empty() && !sparse;
        let kind = match (map.declared, aggregation, scalar) {
            (Some((kind, _)), ..) if !scalar => kind,
            (Some((MapType::PerCpuHash | MapType::PerCpuLruHash | MapType::PerCpuArray, _)), _, true) => {
                MapType::PerCpuArray
            }
            (_, Some(_), true) => MapType::PerCpuArray,
            (_, Some(_), false) => MapType::PerCpuHash,
            (_, None, true) => MapType::Array,
            (_, None, false) => MapType::Hash,
        };
        let bytes = layout(key.iter()).1.next_multiple_of(8);
        let key_bytes = match (scalar, sparse) {
            (true, _) => 4,
            (false, true) if key.is_empty() => 8,
            (false, true) => bytes + 8,
            (false, false) => bytes,
        };
        let key_bytes = if kind == MapType::PerCpuArray { 4 } else { key_bytes };
        let single = key.is_empty() && matches!(kind, MapType::Array | MapType::PerCpuArray);
        let value_bytes = value.bytes().next_multiple_of(8).max(8) + if single { 8 } else { 0 };
        self.limit_sizes(map, key_bytes, value_bytes);
        if map.declared.is_some() && map.key.is_none() && map.value.is_none() {
            let message = format!("{} is declared and not used", map.name);
            self.report(Diagnostic::warning(map.at, message)).hint("");
        }
        let max_entries = match map.declared {
            _ if scalar => 1,
            Some((_, entries)) => entries,
            None => self.config.max_map_keys,
        };
        let (name, object_name) = (map.name.clone(), object_name(index, &map.name));
        MapPlan {
            name,
            object_name,
            kind,
            key,
            value,
            key_bytes,
            value_bytes,
            max_entries,
            start: map.at.start,
            end: map.at.end,
        }
    }

    fn limit_sizes(&mut self, map: &ScriptMap, key: u32, value: u32) {
        let name = &map.name;
        if key > MAX_KEY_BYTES {
            let message = format!("a key of {name} takes {key} bytes, more than {MAX_KEY_BYTES}");
            self.report(Diagnostic::error(map.key_at, message)).hint("shorten its texts: `str(p, 64)`");
        }
        if value > MAX_VALUE_BYTES {
            let message = format!("a value of {name} takes {value} bytes, more than {MAX_VALUE_BYTES}");
            self.report(Diagnostic::error(map.value_at, message))
                .hint("keep less: a shorter text, or only some members");
        }
    }

    /// A place in the script for messages: `line 3`.
    pub(super) fn line(&self, at: Span) -> String {
        let before = self.text.as_bytes().get(..(at.start as usize).min(self.text.len())).unwrap_or_default();
        format!("line {}", before.iter().filter(|byte| **byte == b'\n').count() + 1)
    }
}

fn widen(ty: &mut Type, limit: u32) {
    match ty {
        Type::Text { bytes } => *bytes = limit.saturating_add(1).max(*bytes),
        Type::Buffer { bytes } => *bytes = limit.max(*bytes),
        Type::Integer { bytes, .. } => *bytes = 8,
        Type::Tuple(parts) => parts.iter_mut().for_each(|part| widen(part, limit)),
        Type::Record(parts) => parts.iter_mut().for_each(|(_, part)| widen(part, limit)),
        _ => {}
    }
}

/// Names of maps in the kernel have 15 letters at most; the number makes them unique.
fn object_name(index: usize, name: &str) -> String {
    let rest: String =
        name.chars().skip(1).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let mut name = format!("m{index}_{rest}");
    name.truncate(15);
    name.trim_end_matches('_').to_owned()
}

impl BodyChecker<'_, '_> {
    /// A map by its name.
    pub(super) fn map_id(&mut self, name: &str, at: Span) -> ScriptMapId {
        self.cx.maps.id(name, at)
    }

    /// What a map holds, if that is known yet; else an error (which counts only if it is never known).
    pub(super) fn map_value_type(&mut self, map: ScriptMapId, at: Span) -> Checked<Type> {
        if let Some(ty) = self.cx.maps.get(map).and_then(|map| map.value.clone()) {
            return Ok(ty);
        }
        // Why a probe cannot be had was told; what only it puts into maps is then of no interest.
        let only_there = self.cx.has_missing && self.cx.config.missing_probes == bathyscope_plan::MissingProbes::Error;
        if only_there || self.cx.maps.get(map).is_some_and(|map| map.doubtful) {
            return Err(Failed);
        }
        let name = self.cx.maps.get(map).map(|map| map.name.clone()).unwrap_or_default();
        // What other maps hold is learned from pass to pass.
        let others = || self.cx.maps.all.iter().filter(|map| map.value.is_some()).map(|map| map.name.as_str());
        let hint = self.cx.hints.about(&format!("map of {}", others().count()), &name, || {
            match crate::lang::suggest(&name, others()) {
                Some(near) if near != name => format!("did you mean `{near}`?"),
                _ => "assign it somewhere, in any probe".to_owned(),
            }
        });
        self.fail(at, format!("nothing is ever put into {name}"), hint)
    }

    /// A value that is put into a map; if it is wrong, nothing more is said about what the map holds.
    pub(super) fn put_or_doubt<T>(&mut self, name: &str, at: Span, value: Checked<T>) -> Checked<T> {
        if value.is_err() {
            let map = self.map_id(name, at);
            if let Some(map) = self.cx.maps.get_mut(map) {
                map.doubtful = true;
            }
        }
        value
    }

    /// The type of a map's values when this one is put into it too.
    pub(super) fn put(&mut self, map: ScriptMapId, value: &TypedExpr, span: Span) -> Checked<Type> {
        if value.ty == Type::None {
            return self.fail(value.span, "this has no value that could be assigned", "");
        }
        let known = self.cx.maps.get(map).and_then(|map| map.value.clone());
        let ty = match known {
            None => wide(Self::kept_type(value)),
            Some(Type::Aggregate(aggregation)) => {
                let (name, line) = self.map_place(map, false);
                let message = format!(
                    "{name} holds {}() ({line}) and cannot be assigned {}",
                    aggregation_name(&aggregation),
                    describe(&value.ty)
                );
                return self.fail(span, message, "use another map; `clear(@map)` and `zero(@map)` start anew");
            }
            // So far only counts were put in, which may be of either sign.
            Some(Type::I64) if value.ty == Type::U64 && !is_natural(value) && !self.is_signed_map(map) => Type::U64,
            Some(known) => match Self::join_value(&known, value) {
                Join::To(ty) => wide(ty),
                Join::Lossy(ty) => {
                    let (name, line) = self.map_place(map, false);
                    let message =
                        format!("{name} is {} ({line}) and is assigned {}", describe(&known), describe(&value.ty));
                    self.warn(value.span, message).hint("it becomes int64; cast the value to say what is meant");
                    wide(ty)
                }
                Join::Never => {
                    let (name, line) = self.map_place(map, false);
                    let message = format!(
                        "{name} holds {} ({line}) and cannot be assigned {}",
                        describe(&known),
                        describe(&value.ty)
                    );
                    return self.fail(span, message, "use another map");
                }
            },
        };
        if !is_natural(value)
            && number(&value.ty).is_some_and(|(_, signed)| signed)
            && let Some(map) = self.cx.maps.get_mut(map)
        {
            map.signed = true;
        }
        if let Some(known) = self.cx.maps.get_mut(map) {
            let joined = super::checker::inferred(known.inferred.as_ref(), &value.ty);
            let new = known.inferred.as_ref() != Some(&joined);
            known.inferred = Some(joined);
            self.cx.changed |= new;
        }
        self.written(map, ty, span)
    }

    fn is_signed_map(&self, map: ScriptMapId) -> bool {
        self.cx.maps.get(map).is_some_and(|map| map.signed)
    }

    fn written(&mut self, map: ScriptMapId, ty: Type, span: Span) -> Checked<Type> {
        self.cx.learn_value(map, ty.clone(), span);
        Ok(self.cx.maps.get(map).and_then(|map| map.value.clone()).unwrap_or(ty))
    }

    /// The aggregation that a map keeps when this one goes into it too.
    pub(super) fn put_aggregation(&mut self, map: ScriptMapId, new: &Aggregation, span: Span) -> Checked<Aggregation> {
        let known = self.cx.maps.get(map).and_then(|map| map.value.clone());
        let joined = match &known {
            None => new.clone(),
            Some(Type::Aggregate(old)) => match join_aggregations(old, new) {
                Some(joined) => joined,
                None => return self.mixed(map, old, new, span),
            },
            Some(other) => {
                let (name, line) = self.map_place(map, false);
                let message =
                    format!("{name} holds {} ({line}) and cannot hold {}()", describe(other), aggregation_name(new));
                return self.fail(span, message, "use another map for the aggregation");
            }
        };
        match self.written(map, Type::Aggregate(joined.clone()), span)? {
            Type::Aggregate(it) => Ok(it),
            _ => Ok(joined),
        }
    }

    fn mixed<T>(&mut self, map: ScriptMapId, old: &Aggregation, new: &Aggregation, span: Span) -> Checked<T> {
        let (name, line) = self.map_place(map, false);
        let (was, is) = (aggregation_name(old), aggregation_name(new));
        if was == is {
            let message = format!("{name} holds {was}() with other parameters ({line})");
            return self.fail(span, message, "use the same parameters everywhere, or another map");
        }
        self.fail(span, format!("{name} holds {was}() ({line}) and cannot hold {is}() too"), "use another map")
    }

    /// The value of a map's element.
    pub(super) fn read_element(&mut self, element: MapElement) -> Checked<TypedExpr> {
        let ty = self.map_value_type(element.map, element.span)?;
        let (ty, read) = match ty {
            Type::Aggregate(aggregation) => match read_type(&aggregation) {
                Some(ty) => (ty, MapRead::Aggregated),
                None => {
                    let (name, _) = self.map_place(element.map, false);
                    let message =
                        format!("{name} holds {}(), which cannot be read here", aggregation_name(&aggregation));
                    return self.fail(element.span, message, format!("`print({name})` shows it"));
                }
            },
            ty => (ty, MapRead::Value),
        };
        let kind = TypedExprKind::Map { map: element.map, key: element.key.map(Box::new), read };
        Ok(TypedExpr::new(kind, ty, element.span))
    }
}

/// Numbers in maps take 64 bits, so that they can be added to atomically and never overflow early.
fn wide(ty: Type) -> Type {
    match ty {
        Type::Integer { signed, .. } => Type::Integer { bytes: 8, signed },
        other => other,
    }
}

/// What reading an aggregation gives, if it can be read.
pub(super) fn read_type(aggregation: &Aggregation) -> Option<Type> {
    Some(match aggregation {
        Aggregation::Count => Type::I64,
        Aggregation::Sum { signed }
        | Aggregation::Min { signed }
        | Aggregation::Max { signed }
        | Aggregation::Average { signed } => Type::Integer { bytes: 8, signed: *signed },
        _ => return None,
    })
}

fn join_aggregations(old: &Aggregation, new: &Aggregation) -> Option<Aggregation> {
    use Aggregation as A;
    Some(match (old, new) {
        (A::Sum { signed: x }, A::Sum { signed: y }) => A::Sum { signed: *x || *y },
        (A::Min { signed: x }, A::Min { signed: y }) => A::Min { signed: *x || *y },
        (A::Max { signed: x }, A::Max { signed: y }) => A::Max { signed: *x || *y },
        (A::Average { signed: x }, A::Average { signed: y }) => A::Average { signed: *x || *y },
        (A::Stats { signed: x }, A::Stats { signed: y }) => A::Stats { signed: *x || *y },
        (
            A::TimeSeries { interval_ns, phase_ns, slots, of, signed: x },
            A::TimeSeries { interval_ns: interval, slots: more, of: other, signed: y, .. },
        ) if (interval_ns, slots, of) == (interval, more, other) => {
            let (interval_ns, phase_ns) = (*interval_ns, *phase_ns);
            A::TimeSeries { interval_ns, phase_ns, slots: *slots, of: *of, signed: *x || *y }
        }
        _ if old == new => old.clone(),
        _ => return None,
    })
}

/// Whether a type is a number that can be stepped.
pub(super) fn is_steppable(ty: &Type) -> bool {
    number(ty).is_some()
}
