//! A flame graph as one self-contained SVG file: a picture, or with a script in it that zooms and searches.

use std::fmt::{self, Write};

use crate::{
    CATEGORY_SHADES, FRAME_SHADES, MATCH_BELOW, MATCH_SELF, NameColours, ON_CATEGORY, ON_FRAME, ROOT_SHADE, Shade,
    answers::{FlameGraph, LeftOutRows, NodeKind},
    flame::base_name,
};

/// What the file says around the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SvgOptions {
    /// Which colours names have.
    pub colours: NameColours,
    /// Above the graph.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Losses or other warnings in words; empty if there is nothing to say.
    pub notice: String,
    /// Pixels; clamped to 200 to [`crate::MAX_FLAME_WIDTH`].
    pub width: u32,
    /// Whether the root is on top.
    pub down: bool,
    /// What colours of frames tell.
    pub by: ColoursBy,
    /// Whether a script in it zooms and searches. A picture that is embedded has none.
    pub script: bool,
}

/// What colours of frames tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColoursBy {
    /// What they are.
    #[default]
    Kind,
    /// What their code was mapped from.
    Module,
    /// The package of their name ([`package_of`]), else their module.
    Package,
}

impl Default for SvgOptions {
    fn default() -> Self {
        let (colours, title, subtitle, notice) = Default::default();
        Self { colours, title, subtitle, notice, width: 1200, down: false, by: ColoursBy::Kind, script: false }
    }
}

/// What a function belongs to, as the page reads names (`web/static/js/view/flame/flame_colors.js`): of Rust and C++ the first two
/// parts of the path before its own name, of Go its package; empty if nothing is known.
pub fn package_of(name: &str) -> &str {
    let typed = name.strip_prefix('<').map_or(name, |rest| rest.split(" as ").next().unwrap_or(rest));
    let plain = typed.split(['<', '(', '[', '>']).next().unwrap_or(typed);
    if plain.contains("::") || name.contains(">::") {
        let path = plain.rsplit_once("::").map_or("", |(path, _own)| path);
        let end = path.match_indices("::").nth(1).map_or(path.len(), |(at, _)| at);
        return path.get(..end).unwrap_or(path);
    }
    if name.contains('/') || name.contains(".(") {
        let begin = name.rfind('/').map_or(0, |at| at + 1);
        let rest = name.get(begin..).unwrap_or_default();
        return rest.find('.').and_then(|at| name.get(..begin + at)).unwrap_or("");
    }
    ""
}

const SCRIPT: &str = include_str!("svg_script.js");

/// Height of a level in pixels.
const LEVEL: u64 = 17;
/// Around everything.
const MARGIN: u64 = 10;
/// Heights of the lines of text above the graph.
const HEAD: u64 = 68;
/// Below the graph: what was cut, and the kinds.
const FOOT: u64 = 62;
/// A character of the labels' font is not wider than this, in thousandths of a pixel.
const CHARACTER_MILLI: u64 = 7_300;
/// Narrower nodes have no label.
const LEAST_LABEL: u64 = 28;

const STYLE: &str = "\
svg{background:#fff}\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#1b1f23;white-space:pre}\
.t{font-size:15px;font-weight:600}\
.s{fill:#57606a}\
.n{fill:#8a5a00}\
.b{fill:#0a5c8a;text-decoration:underline;text-anchor:end;cursor:pointer}\
.m{stroke:#000;stroke-width:2}\
.u{stroke:#000;stroke-width:2;stroke-dasharray:3 3}\
g:hover>rect{stroke:#000;stroke-width:1}\
@media (prefers-color-scheme:dark){\
svg{background:#15191e}\
text{fill:#e6e9ec}\
.s{fill:#9aa4ae}\
.n{fill:#e0a63a}\
.b{fill:#7cc4ee}\
.m,.u{stroke:#fff}\
g:hover>rect{stroke:#fff}\
}";

/// The colours of names: classes of the page, each for light and for dark ground.
fn write_colours(out: &mut String) -> fmt::Result {
    let frames = FRAME_SHADES.iter().flat_map(|(family, shades)| {
        shades.iter().enumerate().map(move |(at, shade)| (format!("fl-{family}-{at}"), *shade))
    });
    let categories = CATEGORY_SHADES.iter().enumerate().map(|(at, shade)| (format!("cat-{at}"), *shade));
    let others = [("fl-root", ROOT_SHADE), ("on-cat", ON_CATEGORY), ("on-frame", ON_FRAME)];
    let all: Vec<(String, Shade)> =
        others.map(|(name, shade)| (name.to_owned(), shade)).into_iter().chain(categories).chain(frames).collect();
    for (name, Shade { light, .. }) in &all {
        write!(out, ".{name}{{fill:#{light:06x}}}")?;
    }
    out.push_str("@media (prefers-color-scheme:dark){");
    for (name, Shade { dark, .. }) in &all {
        write!(out, ".{name}{{fill:#{dark:06x}}}")?;
    }
    out.push('}');
    Ok(())
}

/// Draws the file. The same input gives the same bytes. Percentages are of the focused node's samples; nodes below it
/// are drawn over the whole width.
///
/// Every text goes through one strict escape, so nothing in a name can begin an element or attribute, and characters
/// that XML cannot hold appear as `\u{…}`. There is no link or reference to anything outside the file, and no script unless one
/// was asked for: that one is the same in every file, and reads names as text.
pub fn svg(graph: &FlameGraph, options: &SvgOptions) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _infallible = draw(&mut out, graph, options);
    out
}

/// Sizes that all parts need.
struct SvgSizes<'a> {
    graph: &'a FlameGraph,
    options: &'a SvgOptions,
    width: u64,
    inner: u64,
    levels: u64,
}

fn draw(out: &mut String, graph: &FlameGraph, options: &SvgOptions) -> fmt::Result {
    let width = u64::from(options.width.clamp(200, crate::MAX_FLAME_WIDTH));
    let (inner, levels) = (width - 2 * MARGIN, u64::from(graph.max_depth) + 1);
    let place = SvgSizes { graph, options, width, inner, levels };
    let height = HEAD + place.levels * LEVEL + FOOT;
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">"#
    )?;
    writeln!(out, "<title>{}</title>", Escaped(&options.title))?;
    write!(out, "<style>{STYLE}")?;
    write_colours(out)?;
    writeln!(out, "</style>")?;
    place.head(out, options)?;
    (0..graph.nodes.id.len()).try_for_each(|index| place.node(out, index))?;
    place.foot(out, height)?;
    if options.script {
        place.buttons(out)?;
        let text = SCRIPT.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(out, "<script>{text}</script>")?;
    }
    writeln!(out, "</svg>")
}

impl SvgSizes<'_> {
    /// What the script shows where it runs: in a program that runs none they would do nothing.
    fn buttons(&self, out: &mut String) -> fmt::Result {
        for (id, word, right) in [("reset", "Reset zoom", 60), ("find", "Find", 10)] {
            let x = self.width - right;
            writeln!(
                out,
                r#"<text id="{id}" class="b" x="{x}" y="22" role="button" tabindex="0" style="display:none">{word}</text>"#
            )?;
        }
        Ok(())
    }

    fn head(&self, out: &mut String, options: &SvgOptions) -> fmt::Result {
        let room = self.width - 2 * MARGIN;
        for (class, y, text) in [("t", 22, &options.title), ("s", 40, &options.subtitle), ("n", 58, &options.notice)] {
            if !text.is_empty() {
                // The title's letters are wider.
                let text = fitting(text, room * 4 / if class == "t" { 5 } else { 4 });
                writeln!(out, r#"<text class="{class}" x="{MARGIN}" y="{y}">{}</text>"#, Escaped(&text))?;
            }
        }
        Ok(())
    }

    fn foot(&self, out: &mut String, height: u64) -> fmt::Result {
        let graph = self.graph;
        let mut said = Amount(graph.focus_total, graph).to_string();
        if graph.focus_total != graph.total {
            write!(said, " of {}", Grouped(graph.total))?;
        }
        if !graph.counted.is_empty() {
            write!(said, " ({})", graph.counted)?;
        }
        if graph.cut.nodes > 0 {
            let (nodes, samples) = (Grouped(graph.cut.nodes), Amount(graph.cut.samples, graph));
            write!(said, "; not drawn, being too narrow: {nodes} more nodes with {samples}")?;
        }
        let mut more = Vec::new();
        if graph.unresolved > 0 {
            let have = if graph.unresolved == 1 { "has" } else { "have" };
            more.push(format!("{} {have} frames without a symbol", Amount(graph.unresolved, graph)));
        }
        if graph.matched_samples > 0 {
            more.push(format!("{} found by the search", Amount(graph.matched_samples, graph)));
        }
        let LeftOutRows { missing, negative } = graph.left_out;
        for (rows, what) in [(missing, "without a value"), (negative, "with a negative value")] {
            if rows > 0 {
                more.push(format!("{} rows {what} left out", Grouped(rows)));
            }
        }
        let room = self.width - 2 * MARGIN;
        for (id, y, text) in [(" id=\"said\"", height - FOOT + 18, said), ("", height - FOOT + 34, more.join("; "))] {
            if !text.is_empty() {
                let id = if self.options.script { id } else { "" };
                writeln!(out, r#"<text{id} class="s" x="{MARGIN}" y="{y}">{}</text>"#, Escaped(&fitting(&text, room)))?;
            }
        }
        let kinds = [
            (NodeKind::Process, "cat-4"),
            (NodeKind::Kernel, "fl-kernel-0"),
            (NodeKind::User, "fl-user-0"),
            (NodeKind::Inlined, "fl-inlined-0"),
            (NodeKind::Jit, "fl-jit-0"),
            (NodeKind::Unresolved, "fl-unresolved-0"),
        ];
        let mut x = MARGIN;
        for (kind, class) in kinds.into_iter().filter(|(kind, _class)| graph.nodes.kind.contains(kind)) {
            let (word, y) = (kind_word(kind), height - 20);
            write!(out, r#"<rect class="{class}" x="{x}" y="{y}" width="10" height="10"/>"#)?;
            writeln!(out, r#"<text class="s" x="{}" y="{}">{word}</text>"#, x + 14, y + 9)?;
            x += 30 + word.len() as u64 * CHARACTER_MILLI / 1000;
        }
        Ok(())
    }

    fn node(&self, out: &mut String, index: usize) -> fmt::Result {
        let nodes = &self.graph.nodes;
        let name =
            nodes.name.get(index).and_then(|name| self.graph.names.get(*name as usize)).map_or("", String::as_str);
        let at = |column: &[u64]| column.get(index).copied().unwrap_or(0);
        let (x, value, whole) = (at(&nodes.x), at(&nodes.value), self.graph.focus_total);
        let kind = nodes.kind.get(index).copied().unwrap_or(NodeKind::Unresolved);
        let depth = u64::from(nodes.depth.get(index).copied().unwrap_or(0));
        // Nodes below the focused one have more samples than the width stands for.
        let left = self.pixels_centi(x.min(whole));
        let right = self.pixels_centi(x.saturating_add(value).min(whole));
        let level = if self.options.down { depth } else { (self.levels - 1).saturating_sub(depth) };
        let (wide, y) = (right - left, HEAD + level * LEVEL);
        let colour = self.colour(index, kind, name);
        let hit = match nodes.matched.get(index) {
            Some(bits) if bits & MATCH_SELF != 0 => " m",
            Some(bits) if bits & MATCH_BELOW != 0 => " u",
            _ => "",
        };
        let share = Share { part: value, whole: self.graph.total.max(1) };
        let class = if self.options.script { r#" class="f""# } else { "" };
        write!(out, "<g{class}><title>{} ({}, {}, {share}", Escaped(name), kind_word(kind), Amount(value, self.graph))?;
        if whole != self.graph.total && value <= whole {
            write!(out, ", {} of the focus", Share { part: value, whole: whole.max(1) })?;
        }
        let left = left + MARGIN * 100;
        write!(
            out,
            r#")</title><rect class="{colour}{hit}" x="{}" y="{y}" width="{}" height="{}"/>"#,
            Centi(left),
            Centi(wide),
            LEVEL - 1
        )?;
        if wide / 100 >= LEAST_LABEL {
            // A nested svg clips: piled up combining marks and wide letters stay in their box.
            let text = fitting(name, wide / 100 - 4);
            let class = if colour.starts_with("cat-") { "on-cat" } else { "on-frame" };
            write!(
                out,
                r#"<svg x="{}" y="{y}" width="{}" height="{}"><text class="{class}" x="2" y="12">{}</text></svg>"#,
                Centi(left + 100),
                Centi(wide - 100),
                LEVEL - 1,
                Escaped(&text)
            )?;
        }
        writeln!(out, "</g>")
    }

    fn colour(&self, index: usize, kind: NodeKind, name: &str) -> String {
        let SvgOptions { colours, by, .. } = self.options;
        let is_group = matches!(kind, NodeKind::Root | NodeKind::Process);
        if *by == ColoursBy::Kind || is_group {
            return colours.class(kind, name);
        }
        let module = self.graph.nodes.module.get(index).and_then(|module| self.graph.modules.get(*module as usize));
        let module = module.map_or("", |path| base_name(path));
        let package = if *by == ColoursBy::Package { package_of(name) } else { "" };
        match if package.is_empty() { module } else { package } {
            "" => "fl-unresolved-0".to_owned(),
            owner => colours.class(NodeKind::Process, owner),
        }
    }

    /// Hundredths of a pixel from the left of the graph.
    fn pixels_centi(&self, samples: u64) -> u64 {
        let whole = u128::from(self.graph.focus_total.max(1));
        (u128::from(samples) * u128::from(self.inner) * 100 / whole) as u64
    }
}

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Root => "all",
        NodeKind::Process => "process",
        NodeKind::Kernel => "kernel",
        NodeKind::User => "user",
        NodeKind::Inlined => "inlined",
        NodeKind::Jit => "JIT",
        NodeKind::Unresolved => "unresolved",
    }
}

/// The text, or its beginning and an ellipsis, so that it fits into so many pixels.
fn fitting(text: &str, pixels: u64) -> String {
    let room = (pixels * 1000 / CHARACTER_MILLI) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let cut: String = text.chars().take(room.saturating_sub(1)).collect();
    cut + "…"
}

/// Text for an element or a quoted attribute.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML 1.0 has no way to write these.
                '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                    write!(f, "\\u{{{:x}}}", u32::from(c))?;
                }
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Hundredths, as a decimal number without final zeroes.
struct Centi(u64);

impl fmt::Display for Centi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, part) if part % 10 == 0 => write!(f, "{whole}.{}", part / 10),
            (whole, part) => write!(f, "{whole}.{part:02}"),
        }
    }
}

/// A percentage with two digits after the point, by whole numbers so that it is the same on every machine.
struct Share {
    part: u64,
    whole: u64,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = u128::from(self.whole);
        let basis_points = (u128::from(self.part) * 10_000 + whole / 2) / whole;
        write!(f, "{}.{:02} %", basis_points / 100, basis_points % 100)
    }
}

/// How many samples, or how much of what the values count, in words.
struct Amount<'a>(u64, &'a FlameGraph);

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match (self.1.unit, self.0) {
            ("nanoseconds", _) => "ns",
            ("microseconds", _) => "µs",
            ("milliseconds", _) => "ms",
            ("seconds", _) => "s",
            ("values", _) => return write!(f, "{}", Grouped(self.0)),
            (unit, 1) => unit.strip_suffix('s').unwrap_or(unit),
            (unit, _) => unit,
        };
        write!(f, "{} {unit}", Grouped(self.0))
    }
}

/// A whole number with commas between thousands.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(|n| Grouped(n).to_string()), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 5, 50, 100, 12_340].map(|n| Centi(n).to_string()), ["0", "0.05", "0.5", "1", "123.4"]);
        let shares = [(1, 3), (2, 3), (1, 1), (0, 7), (u64::MAX, u64::MAX)];
        let expected = ["33.33 %", "66.67 %", "100.00 %", "0.00 %", "100.00 %"];
        assert_eq!(shares.map(|(part, whole)| Share { part, whole }.to_string()), expected);
    }

    #[test]
    fn text_stays_text() {
        let nasty = "<a b=\"c\" d='e'>&amp;\u{0}\u{1b}\u{ffff}\u{85}";
        let safe = "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;\\u{0}\\u{1b}\\u{ffff}\\u{85}";
        assert_eq!(Escaped(nasty).to_string(), safe);
    }

    #[test]
    fn functions_belong_to_packages() {
        let cases: Vec<(String, String)> =
            serde_json::from_str(include_str!("../../../web/tests/packages.json")).unwrap_or_default();
        assert!(cases.len() > 8);
        for (name, package) in &cases {
            assert_eq!(package_of(name), package, "{name}");
        }
    }

    #[test]
    fn labels_are_cut_to_their_box() {
        assert_eq!(fitting("main", 40), "main");
        assert_eq!(fitting("a_long_name", 40), "a_lo…");
        assert_eq!(fitting("größe_größe", 40), "größ…");
    }
}
