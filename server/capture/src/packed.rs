//! Entries of a dictionary with ids one after another, in two pieces of memory however many they are.

/// Entries from a first id on: texts as bytes, stacks as ids of frames. An entry may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed<T> {
    first: u32,
    items: Vec<T>,
    /// Where each entry begins and how long it is.
    places: Vec<(u32, u32)>,
}

/// The length of an entry that is not there.
const MISSING: u32 = u32::MAX;

impl<T> Packed<T> {
    /// Entries without gaps from `first` on, one after another in `items`; none if their lengths are not exactly those
    /// of `items`.
    pub fn dense(first: u32, lengths: impl IntoIterator<Item = u32>, items: Vec<T>) -> Option<Self> {
        let mut start = 0_u32;
        let mut places = Vec::new();
        for length in lengths {
            places.push((start, length));
            start = start.checked_add(length).filter(|_| length != MISSING)?;
        }
        (start as usize == items.len()).then_some(Self { first, items, places })
    }

    /// The entry with an id.
    pub fn get(&self, id: u32) -> Option<&[T]> {
        let (start, length) = *self.places.get(id.checked_sub(self.first)? as usize)?;
        self.items.get(start as usize..(start as usize).checked_add(length as usize)?).filter(|_| length != MISSING)
    }

    /// The bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.places.capacity() * size_of::<(u32, u32)>()
    }

    /// Gives up memory that was set aside for more.
    pub fn shrink(&mut self) {
        self.items.shrink_to_fit();
        self.places.shrink_to_fit();
    }
}

impl<T: Copy> Packed<T> {
    /// Entries whose ids rise; those below `first` and those out of order are left out.
    pub fn sparse<'a>(first: u32, entries: impl IntoIterator<Item = (u32, &'a [T])>) -> Self
    where
        T: 'a,
    {
        let mut packed = Self { first, items: Vec::new(), places: Vec::new() };
        for (id, entry) in entries {
            let Some(index) = id.checked_sub(first).map(|index| index as usize) else { continue };
            let (Ok(start), Ok(length)) = (u32::try_from(packed.items.len()), u32::try_from(entry.len())) else {
                break;
            };
            if index >= packed.places.len() {
                packed.places.resize(index, (0, MISSING));
                packed.places.push((start, length));
                packed.items.extend_from_slice(entry);
            }
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn entries_come_back_by_their_ids() {
        let dense = Packed::dense(5, [2, 0, 1], b"abc".to_vec()).unwrap();
        let sparse = Packed::sparse(5, [(5, b"ab".as_slice()), (7, b"c"), (6, b"late"), (3, b"early")]);
        let missing = [0, 4, 8].map(|id| (dense.get(id), sparse.get(id)));
        assert_eq!(missing, [(None, None); 3]);
        assert_eq!([5, 6, 7].map(|id| dense.get(id)), [Some(b"ab".as_slice()), Some(b""), Some(b"c")]);
        assert_eq!([5, 6, 7].map(|id| sparse.get(id)), [Some(b"ab".as_slice()), None, Some(b"c")]);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        for lengths in [vec![], vec![2], vec![2, 2], vec![u32::MAX, 4], vec![3, u32::MAX]] {
            assert_eq!(Packed::dense(1, lengths.clone(), b"abc".to_vec()), None, "{lengths:?}");
        }
        assert_eq!(Packed::<u8>::dense(1, [], Vec::new()).map(|packed| packed.get(1).is_none()), Some(true));
    }
}
