//! What is shown, and what keys change of it.

use super::{data::TopData, keys::Key};

/// One of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TopTable {
    /// Functions by samples.
    #[default]
    Functions,
    /// Processes by samples.
    Sampled,
    /// Processes by what they use, as the start page shows them.
    Processes,
}

impl TopTable {
    pub(super) const ALL: [Self; 3] = [Self::Functions, Self::Sampled, Self::Processes];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Functions => "Functions",
            Self::Sampled => "Processes by samples",
            Self::Processes => "Processes",
        }
    }

    /// What its rows are sorted by, each with the head of its column.
    pub(super) fn sorts(self) -> &'static [&'static str] {
        match self {
            Self::Functions => &["Self", "Total", "Samples", "Function"],
            Self::Sampled => &["Self", "Samples", "PID", "Command"],
            Self::Processes => &["CPU", "Memory", "Faults/s", "Read/s", "Written/s", "PID", "Command"],
        }
    }

    fn place(self) -> usize {
        Self::ALL.iter().position(|table| *table == self).unwrap_or(0)
    }
}

/// Of which time samples are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Span {
    /// The last ten seconds.
    #[default]
    Recent,
    /// Since the beginning, or since they were set to zero.
    All,
}

/// What a key asks for beyond what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// To end.
    Quit,
    /// Other samples.
    Look,
    /// To count from now on.
    Zero,
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct TopState {
    pub(super) table: TopTable,
    /// By table, which of [`TopTable::sorts`].
    pub(super) sorts: [usize; 3],
    pub(super) is_reversed: bool,
    /// Rows have this in their names, in any case.
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) is_typing: bool,
    pub(super) is_frozen: bool,
    pub(super) has_help: bool,
    /// The process whose samples are shown alone, and its name.
    pub(super) zoom: Option<(u64, String)>,
    pub(super) span: Span,
    pub(super) selected: usize,
    /// The first row that is in sight.
    pub(super) scroll: usize,
    /// Rows that a page has, as they were drawn last.
    pub(super) page: usize,
}

impl TopState {
    /// What the table is sorted by.
    pub(super) fn sort(&self) -> &'static str {
        let sorts = self.table.sorts();
        let at = self.sorts.get(self.table.place()).copied().unwrap_or(0);
        sorts.get(at).copied().unwrap_or_default()
    }

    /// Does what a key says; `rows` are those of the table that is shown.
    pub(super) fn key(&mut self, key: Key, data: &TopData, rows: usize) -> Option<Action> {
        if key == Key::Ctrl('c') {
            return Some(Action::Quit);
        }
        if self.is_typing {
            self.typed(key);
            return None;
        }
        if self.has_help {
            self.has_help = false;
            if !matches!(key, Key::Char('q')) {
                return None;
            }
        }
        match key {
            Key::Char('q') => return Some(Action::Quit),
            Key::Char('?' | 'h') => self.has_help = true,
            Key::Char('/') => self.is_typing = true,
            Key::Char(' ' | 'f') => self.is_frozen = !self.is_frozen,
            Key::Char('s') => self.sort_by_next(1),
            Key::Char('S') => self.sort_by_next(self.table.sorts().len().saturating_sub(1)),
            Key::Char('r') => self.is_reversed = !self.is_reversed,
            Key::Char('z') => return Some(Action::Zero),
            Key::Char('w') => {
                self.span = if self.span == Span::Recent { Span::All } else { Span::Recent };
                return Some(Action::Look);
            }
            Key::Char(digit @ '1'..='3') => self.show(digit as usize - '1' as usize),
            Key::Tab => self.show(self.table.place() + 1),
            Key::BackTab => self.show(self.table.place() + TopTable::ALL.len() - 1),
            Key::Enter | Key::Right => return self.zoom_in(data),
            Key::Escape | Key::Left | Key::Backspace => return self.back(),
            moves => self.select(moves, rows),
        }
        None
    }

    /// Leaves the row that was selected within what there is.
    pub(super) fn fit(&mut self, rows: usize) {
        self.selected = self.selected.min(rows.saturating_sub(1));
    }

    fn typed(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => (self.is_typing, self.filter) = (false, String::new()),
            Key::Backspace => _ = self.filter.pop(),
            Key::Ctrl('u') => self.filter.clear(),
            Key::Char(sign) => self.filter.push(sign),
            _ => {}
        }
        self.selected = 0;
    }

    fn sort_by_next(&mut self, by: usize) {
        let count = self.table.sorts().len();
        if let Some(sort) = self.sorts.get_mut(self.table.place()) {
            *sort = (*sort + by) % count;
        }
    }

    fn show(&mut self, place: usize) {
        let wanted = TopTable::ALL.get(place % TopTable::ALL.len()).copied().unwrap_or_default();
        if wanted != self.table {
            (self.table, self.selected) = (wanted, 0);
        }
    }

    /// Shows the functions of the process that is selected.
    fn zoom_in(&mut self, data: &TopData) -> Option<Action> {
        let rows = super::rows::rows(self, data);
        let (pid, comm) = rows.get(self.selected)?.process.clone()?;
        (self.zoom, self.table, self.selected) = (Some((pid, comm)), TopTable::Functions, 0);
        self.filter.clear();
        Some(Action::Look)
    }

    /// Takes the filter back, then the process.
    fn back(&mut self) -> Option<Action> {
        if !self.filter.is_empty() {
            self.filter.clear();
            return None;
        }
        self.zoom.take().map(|_zoom| Action::Look)
    }

    fn select(&mut self, key: Key, rows: usize) {
        let page = self.page.max(1);
        self.selected = match key {
            Key::Up | Key::Char('k') => self.selected.saturating_sub(1),
            Key::Down | Key::Char('j') => self.selected + 1,
            Key::PageUp => self.selected.saturating_sub(page),
            Key::PageDown => self.selected + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => usize::MAX,
            _ => self.selected,
        };
        self.fit(rows);
    }
}
