//! Members by name, through anonymous structs and unions.

use super::{CType, Member, MemberLocation, TypeId, Types, types::MAX_DEPTH};

/// How many members are looked at for one name; a real struct has some hundreds.
const MAX_LOOKED_AT: usize = 1 << 13;

impl Types {
    /// A member by name, also inside anonymous structs and unions.
    pub fn field(&self, id: TypeId, name: &str) -> Option<MemberLocation> {
        if name.is_empty() {
            return None;
        }
        let mut found = None;
        self.walk(id, &mut |member, base| {
            if member.name == name {
                let bit_offset = member.bit_offset.saturating_add(base);
                found = Some(MemberLocation { ty: member.ty, bit_offset, bits: member.bits });
            }
            found.is_none()
        });
        found
    }

    /// The names that [`Types::field`] would find, in order, at most `limit`.
    pub fn field_names(&self, id: TypeId, limit: usize) -> Vec<&str> {
        let mut names = Vec::new();
        self.walk(id, &mut |member, _base| {
            if !member.name.is_empty() && names.len() < limit {
                names.push(member.name);
            }
            names.len() < limit
        });
        names
    }

    /// A member by path, for `offsetof`: `a.b[3].c`. Blanks are not allowed.
    pub fn field_path(&self, id: TypeId, path: &str) -> Option<MemberLocation> {
        let mut at = MemberLocation { ty: id, bit_offset: 0, bits: None };
        for part in path.split('.') {
            let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
            let field = self.field(at.ty, name)?;
            at = MemberLocation { bit_offset: at.bit_offset.checked_add(field.bit_offset)?, ..field };
            let mut rest = indices;
            while !rest.is_empty() {
                let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
                let CType::Array { element, .. } = self.stripped(at.ty) else { return None };
                let bits = self.size(element)?.checked_mul(8)?.checked_mul(index.parse().ok()?)?;
                at = MemberLocation { ty: element, bit_offset: at.bit_offset.checked_add(bits)?, bits: None };
                rest = behind;
            }
        }
        Some(at)
    }

    /// Shows every member, those of anonymous structs and unions in their places, with the offset in bits of what it
    /// is in, until told to stop.
    fn walk<'a>(&'a self, id: TypeId, show: &mut dyn FnMut(Member<'a>, u64) -> bool) {
        let mut open = vec![(self.members(id), 0_u64)];
        let mut left = MAX_LOOKED_AT;
        while let Some((members, base)) = open.last_mut() {
            let base = *base;
            let Some(member) = members.next() else {
                open.pop();
                continue;
            };
            left -= 1;
            if left == 0 || !show(member, base) {
                return;
            }
            if member.name.is_empty() && member.bits.is_none() && open.len() < MAX_DEPTH {
                open.push((self.members(member.ty), base.saturating_add(member.bit_offset)));
            }
        }
    }
}
