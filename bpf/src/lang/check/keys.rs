//! Keys of maps.

use bathyscope_plan::{MapType, Span, Type};

use super::{
    Checked, Failed,
    body::BodyChecker,
    describe::{Join, describe, join, number},
    maps::{MapElement, ScriptMap},
};
use crate::lang::{
    ast,
    hir::{ScriptMapId, TypedExpr, TypedExprKind},
};

impl BodyChecker<'_, '_> {
    /// A map's element with its key, which tells more about what keys are.
    pub(super) fn element(&mut self, name: &str, keys: &[ast::Expr], span: Span) -> Checked<MapElement> {
        let map = self.map_id(name, span);
        let mut parts = Vec::with_capacity(keys.len());
        for key in keys {
            parts.push(self.value(key));
        }
        let mut parts = parts.into_iter().collect::<Checked<Vec<TypedExpr>>>()?;
        if parts.len() == 1
            && let Some(TypedExpr { kind: TypedExprKind::Tuple(_), ty: Type::Tuple(types), .. }) = parts.first()
            && types.len() > 1
            && let Some(TypedExpr { kind: TypedExprKind::Tuple(inner), .. }) = parts.pop()
        {
            // `@x[(a, b)]` is `@x[a, b]`.
            parts = inner;
        }
        self.key_of(map, parts, span)
    }

    /// A map's element by values of its key's parts.
    pub(super) fn key_of(&mut self, map: ScriptMapId, parts: Vec<TypedExpr>, span: Span) -> Checked<MapElement> {
        for part in &parts {
            self.key_part(part)?;
        }
        if let Some(ScriptMap { declared: Some((MapType::PerCpuArray, _)), .. }) = self.cx.maps.get(map) {
            return self.array_element(map, parts, span);
        }
        let types: Vec<Type> = match parts.as_slice() {
            [TypedExpr { ty: Type::Tuple(types), .. }] if types.len() > 1 => types.clone(),
            parts => parts.iter().map(Self::kept_type).collect(),
        };
        let known = self.cx.maps.get(map).and_then(|map| map.key.clone());
        let types = match known {
            None => types,
            Some(known) if known.len() == types.len() => self.join_key(map, &known, &parts, &types, span)?,
            Some(known) => return self.key_count(map, known.len(), types.len(), span),
        };
        self.cx.learn_key(map, types.clone(), span);
        // Texts may have grown further than these joins.
        let types = self.cx.maps.get(map).and_then(|map| map.key.clone()).unwrap_or(types);
        let key = match (parts.len(), types.as_slice()) {
            (_, []) => None,
            (1, [ty]) => {
                let part = parts.into_iter().next().ok_or(Failed)?;
                Some(self.coerce(part, ty, true)?)
            }
            (1, _) => {
                let part = parts.into_iter().next().ok_or(Failed)?;
                Some(self.coerce(part, &Type::Tuple(types), true)?)
            }
            _ => {
                let whole = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                let tuple = TypedExpr::new(TypedExprKind::Tuple(parts), whole, span);
                Some(self.coerce(tuple, &Type::Tuple(types), true)?)
            }
        };
        Ok(MapElement { map, key, span })
    }

    /// The element of a map that is declared as an array, whose key is an index.
    fn array_element(&mut self, map: ScriptMapId, parts: Vec<TypedExpr>, span: Span) -> Checked<MapElement> {
        let index = Type::Integer { bytes: 4, signed: false };
        let mut parts = parts.into_iter();
        match (parts.next(), parts.next()) {
            (None, _) => {
                self.cx.learn_key(map, Vec::new(), span);
                Ok(MapElement { map, key: None, span })
            }
            (Some(part), None) if number(&part.ty).is_some() => {
                self.cx.learn_key(map, vec![index.clone()], span);
                Ok(MapElement { map, key: Some(part.convert(index)), span })
            }
            _ => {
                let (name, _) = self.map_place(map, true);
                self.fail(span, format!("{name} is an array, and its key is one number"), "declare it as `percpuhash`")
            }
        }
    }

    fn key_part(&mut self, part: &TypedExpr) -> Checked<()> {
        let what = match &part.ty {
            Type::None => "nothing",
            Type::Aggregate(_) => "an aggregation",
            _ => return Ok(()),
        };
        self.fail(part.span, format!("{what} cannot be a key of a map"), "")
    }

    fn join_key(
        &mut self,
        map: ScriptMapId,
        known: &[Type],
        parts: &[TypedExpr],
        types: &[Type],
        span: Span,
    ) -> Checked<Vec<Type>> {
        let mut joined = Vec::with_capacity(known.len());
        for (index, (known, ty)) in known.iter().zip(types).enumerate() {
            let join = match parts.get(index) {
                Some(part) if parts.len() == types.len() => Self::join_value(known, part),
                _ => join(known, ty),
            };
            match join {
                Join::To(ty) | Join::Lossy(ty) => joined.push(ty),
                Join::Never => {
                    let (name, line) = self.map_place(map, true);
                    let message = format!("{name} has keys of type {}, not {}", describe(known), describe(ty));
                    return self.fail(
                        span,
                        message,
                        format!("the type was decided by {line}; use another map, or a cast"),
                    );
                }
            }
        }
        Ok(joined)
    }

    fn key_count<T>(&mut self, map: ScriptMapId, known: usize, now: usize, span: Span) -> Checked<T> {
        let (name, line) = self.map_place(map, true);
        let message = match (known, now) {
            (0, _) => format!("{name} has no key, but is used with one"),
            (_, 0) => format!("{name} has a key, but is used without one"),
            (1, _) => format!("{name} has 1 key, but is used with {now}"),
            _ => format!("{name} has {known} keys, but is used with {now}"),
        };
        self.fail(span, message, format!("{line} decided it; use another map for the other"))
    }

    /// A map's name, and where its key or value was decided.
    pub(super) fn map_place(&self, map: ScriptMapId, key: bool) -> (String, String) {
        let Some(map) = self.cx.maps.get(map) else { return Default::default() };
        (map.name.clone(), self.cx.line(if key { map.key_at } else { map.value_at }))
    }
}
