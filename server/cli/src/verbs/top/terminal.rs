//! The terminal: what it is set to while the table is shown, and how cells become bytes for it.
//!
//! Written for what every terminal understands (ECMA-48), so that no database of terminals is read and nothing beside the bytes
//! of the cells is sent. Names are made visible before they are cells: nothing that a program called itself controls the
//! terminal.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

use ratatui_core::{
    backend::{Backend, ClearType, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
    style::{Color, Modifier},
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The other screen, without its cursor; wrapping off.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J";
/// Back to what was there.
const LEAVE: &str = "\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// A terminal that is set to show tables; it is set back when this goes.
pub(super) struct Screen {
    before: Termios,
    text: String,
    has_colours: bool,
}

impl Screen {
    /// Sets the terminal; none if standard input or output is none.
    pub(super) fn open() -> io::Result<Option<Self>> {
        if !is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut screen = Self { before, text: ENTER.to_owned(), has_colours };
        screen.flush()?;
        Ok(Some(screen))
    }
}

/// Whether somebody sits at it: keys come in, and tables go out.
pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.text = LEAVE.to_owned();
        let _left = self.flush();
        let _set = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        write_cells(content, self.has_colours, &mut self.text);
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.text.push_str("\u{1b}[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.text.push_str("\u{1b}[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        _ = write!(self.text, "\u{1b}[{};{}H", u32::from(y) + 1, u32::from(x) + 1);
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.text.push_str("\u{1b}[0m\u{1b}[2J");
        Ok(())
    }

    fn clear_region(&mut self, _region: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(io::stdout())?;
        // A terminal that does not tell is as large as they once were.
        let or = |told: u16, usual: u16| if told == 0 { usual } else { told };
        Ok(Size::new(or(size.ws_col, 80), or(size.ws_row, 24)))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(self.text.as_bytes())?;
        self.text.clear();
        out.flush()
    }
}

/// The bytes for changed cells.
fn write_cells<'a>(content: impl Iterator<Item = (u16, u16, &'a Cell)>, has_colours: bool, out: &mut String) {
    let mut next = None;
    let mut style = None;
    for (x, y, cell) in content {
        if next != Some((x, y)) {
            _ = write!(out, "\u{1b}[{};{}H", u32::from(y) + 1, u32::from(x) + 1);
        }
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if style != Some(wanted) {
            write_style(cell, has_colours, out);
            style = Some(wanted);
        }
        out.push_str(cell.symbol());
        next = x.checked_add(1).map(|x| (x, y)).filter(|_| cell.symbol().is_ascii());
    }
    if style.is_some() {
        out.push_str("\u{1b}[0m");
    }
}

fn write_style(cell: &Cell, has_colours: bool, out: &mut String) {
    out.push_str("\u{1b}[0");
    for (modifier, code) in
        [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::UNDERLINED, ";4"), (Modifier::REVERSED, ";7")]
    {
        if cell.modifier.contains(modifier) {
            out.push_str(code);
        }
    }
    for (colour, first) in [(cell.fg, 30), (cell.bg, 40)] {
        if let Some(number) = number_of(colour).filter(|_| has_colours) {
            _ = write!(out, ";{}", first + number);
        }
    }
    out.push('m');
}

/// The number of one of the eight colours that every terminal has.
fn number_of(colour: Color) -> Option<u32> {
    match colour {
        Color::Black => Some(0),
        Color::Red => Some(1),
        Color::Green => Some(2),
        Color::Yellow => Some(3),
        Color::Blue => Some(4),
        Color::Magenta => Some(5),
        Color::Cyan => Some(6),
        Color::Gray => Some(7),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn cells_are_bytes_that_every_terminal_understands() {
        let mut bold = Cell::new("b");
        bold.set_style(Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        let (plain, wide) = (Cell::new("a"), Cell::new("漢"));
        let cells = [(0, 0, &plain), (1, 0, &bold), (2, 0, &wide), (4, 0, &plain), (0, 3, &plain)];
        for (has_colours, red) in [(true, ";31"), (false, "")] {
            let mut out = String::new();
            write_cells(cells.into_iter(), has_colours, &mut out);
            let expected =
                format!("\u{1b}[1;1H\u{1b}[0ma\u{1b}[0;1{red}mb\u{1b}[0m漢\u{1b}[1;5Ha\u{1b}[4;1Ha\u{1b}[0m");
            assert_eq!(out, expected);
        }
    }
}
