//! Pages of dictionaries of which something was removed.
//!
//! The texts of a capture are one dictionary for all columns, and what is removed depends on the column. So the dictionary is there
//! once as it is, for columns that stay, and once more for each kind, with placeholders: a column that is replaced has ids of the
//! latter ([`TextSpan`]).

use std::sync::Arc;

use bathyscope_capture::{Frame, Mapping, MappingKind, Packed, StringId, Symbol, SymbolLine};
use bathyscope_views::{LastIds, LoadError, LoadPages, PAGE_IDS, Page, PageContent, PageKind, ProcessNames, page_ids};

use super::{Removal, RemovedKind};
use crate::dictionaries::DictionaryPages;

/// How ids of texts are laid out: all pages as they are, then all with placeholders for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextSpan {
    /// Pages of texts that there are.
    pages: u32,
}

impl TextSpan {
    pub(crate) fn of(last: StringId) -> Self {
        Self { pages: last.div_ceil(PAGE_IDS) }
    }

    /// The last id of all.
    fn last(self) -> StringId {
        let copies = u32::try_from(RemovedKind::ALL.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.pages.saturating_mul(PAGE_IDS).saturating_mul(copies)
    }

    /// The id of what stands in the place of a text; none for 0, and for what is no text of the capture.
    pub(crate) fn replaced(self, kind: RemovedKind, id: StringId) -> StringId {
        let span = self.pages.saturating_mul(PAGE_IDS);
        let copy = RemovedKind::ALL.iter().position(|one| *one == kind).and_then(|at| u32::try_from(at + 1).ok());
        let offset = copy.and_then(|copy| span.checked_mul(copy));
        offset.filter(|_| (1..=span).contains(&id)).and_then(|offset| offset.checked_add(id)).unwrap_or(0)
    }

    /// Which page of the capture's texts a page is of, and of which kind its placeholders are.
    fn place(self, number: u32) -> (u32, Option<RemovedKind>) {
        let pages = self.pages.max(1);
        let copy = (number / pages).checked_sub(1);
        (number % pages, copy.and_then(|copy| RemovedKind::ALL.get(copy as usize)).copied())
    }

    /// The last ids of dictionaries with these copies.
    pub(crate) fn last_ids(self, last: LastIds) -> LastIds {
        LastIds { string: self.last(), ..last }
    }
}

/// Loads pages, and removes something of them. They are counted with all pages, and kept by nobody.
#[derive(Debug)]
pub(crate) struct RemovedPages {
    pub(crate) whole: Arc<dyn LoadPages>,
    pub(crate) pages: Arc<DictionaryPages>,
    pub(crate) removal: Arc<Removal>,
    pub(crate) span: TextSpan,
}

impl LoadPages for RemovedPages {
    fn page(&self, kind: PageKind, number: u32, keep: bool) -> Result<Arc<Page>, LoadError> {
        if kind == PageKind::Texts {
            let (place, removed) = self.span.place(number);
            let whole = self.whole.page(kind, place, keep)?;
            return self.pages.page(self.texts(whole.content(), (place, number), removed));
        }
        let whole = self.whole.page(kind, number, keep)?;
        let content = match whole.content() {
            // Ids of frames; texts are above.
            PageContent::Stacks(_) | PageContent::Texts(_) => return Ok(whole),
            PageContent::Frames(frames) => PageContent::Frames(self.frames(frames)?),
            PageContent::Symbols(symbols) => PageContent::Symbols(symbols.iter().map(|one| self.symbol(one)).collect()),
            PageContent::Mappings(all) => PageContent::Mappings(all.iter().map(|one| self.mapping(one)).collect()),
            PageContent::Names(names) => PageContent::Names(self.names(names)),
        };
        self.pages.page(content)
    }
}

impl RemovedPages {
    /// The texts of the capture's page `place` as page `number`.
    fn texts(&self, whole: &PageContent, (place, number): (u32, u32), removed: Option<RemovedKind>) -> PageContent {
        let PageContent::Texts(texts) = whole else { return PageContent::Texts(Packed::default()) };
        let ((first, last), (first_here, _)) = (page_ids(place), page_ids(number));
        let one = |id: u32| {
            let text = texts.get(id)?;
            let shown = match removed {
                Some(kind) => self.removal.text(kind, text).into_bytes(),
                None => {
                    let name = String::from_utf8_lossy(text);
                    let told = self.removal.name(&name);
                    // What has nothing of it stays, byte by byte.
                    if told == name { text.to_vec() } else { told.into_bytes() }
                }
            };
            Some((first_here + (id - first), shown))
        };
        let all: Vec<(u32, Vec<u8>)> = (first..=last).filter_map(one).collect();
        PageContent::Texts(Packed::sparse(first_here, all.iter().map(|(id, text)| (*id, text.as_slice()))))
    }

    /// Places in memory without a file are addresses.
    fn frames(&self, frames: &[Option<Frame>]) -> Result<Vec<Option<Frame>>, LoadError> {
        if !self.removal.removes(RemovedKind::Addresses) {
            return Ok(frames.to_vec());
        }
        let mappings = self.whole.page(PageKind::Mappings, 0, true)?;
        let PageContent::Mappings(mappings) = mappings.content() else { return Ok(Vec::new()) };
        let is_offset = |frame: &Frame| {
            let at = (frame.mapping as usize).checked_sub(1);
            let mapping = at.and_then(|at| mappings.get(at)).and_then(Option::as_ref);
            mapping.is_some_and(|mapping| matches!(mapping.kind, MappingKind::Kernel | MappingKind::File))
        };
        let one = |frame: &Option<Frame>| {
            let frame = (*frame)?;
            let offset = if is_offset(&frame) { frame.offset } else { self.removal.number(frame.offset) };
            Some(Frame { offset, ..frame })
        };
        Ok(frames.iter().map(one).collect())
    }

    fn symbol(&self, symbol: &Option<Symbol>) -> Option<Symbol> {
        let Symbol { function, offset, lines } = symbol.as_ref()?;
        let line = |line: &SymbolLine| SymbolLine {
            function: self.removal.name(&line.function),
            file: self.removal.chosen(RemovedKind::Paths, &line.file),
            line: line.line,
        };
        Some(Symbol { function: self.removal.name(function), offset: *offset, lines: lines.iter().map(line).collect() })
    }

    fn mapping(&self, mapping: &Option<Mapping>) -> Option<Mapping> {
        let mapping = mapping.as_ref()?;
        // `[vdso]`, and the kernel's own.
        let has_own_name = mapping.kind == MappingKind::Kernel || mapping.name.starts_with(b"[");
        if has_own_name || !self.removal.removes(RemovedKind::Paths) {
            return Some(mapping.clone());
        }
        let name = self.removal.text(RemovedKind::Paths, &mapping.name).into_bytes();
        // A build id tells which file it was.
        Some(Mapping { name, build_id: Vec::new(), ..mapping.clone() })
    }

    fn names(&self, names: &ProcessNames) -> ProcessNames {
        if self.removal.removes(RemovedKind::Names) {
            names.replaced(|id| self.span.replaced(RemovedKind::Names, id))
        } else {
            names.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_ids_of_its_own() {
        let span = TextSpan::of(3000);
        let two = 2 * PAGE_IDS;
        let cases = [
            (RemovedKind::Arguments, 1, two + 1),
            (RemovedKind::Paths, 3000, 2 * two + 3000),
            (RemovedKind::Addresses, two, 5 * two),
            (RemovedKind::Names, 0, 0),
            (RemovedKind::Names, two + 1, 0),
            (RemovedKind::Names, u32::MAX, 0),
        ];
        for (kind, id, expected) in cases {
            assert_eq!(span.replaced(kind, id), expected, "{kind} {id}");
        }
        assert_eq!(span.last(), 5 * two);
        assert_eq!(
            [0, 1, 2, 5, 9].map(|number| span.place(number)),
            [
                (0, None),
                (1, None),
                (0, Some(RemovedKind::Arguments)),
                (1, Some(RemovedKind::Paths)),
                (1, Some(RemovedKind::Addresses)),
            ]
        );
        assert_eq!(TextSpan::of(0).replaced(RemovedKind::Names, 1), 0);
    }
}
