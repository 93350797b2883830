//! Markdown that people write, as a tree of the few things that pages show. No text becomes markup: HTML in it is text, an image is a
//! link, and a link leads to a page of the web or of this console and nowhere else.
//!
//! Pages make elements of the tree one by one (`web/static/js/lib/markdown.js`), so that nothing else can come of it there either.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TextMergeStream};
use serde::Serialize;

/// How deep the tree is at most; what is deeper stands beside each other.
const MAX_DEPTH: usize = 24;
/// The most nodes: a table can have many more cells than its text has characters.
const MAX_NODES: usize = 20_000;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkdownTag {
    /// Text as it is.
    Text,
    /// Code within a line.
    Code,
    /// The end of a line.
    Break,
    /// What is stressed strongly.
    Strong,
    /// What is stressed.
    Emphasis,
    /// What is struck through.
    Struck,
    /// A link, with `href`.
    Link,
    /// A paragraph.
    Paragraph,
    /// A heading, with `level`.
    Heading,
    /// Lines of code.
    Pre,
    /// What somebody else said.
    Quote,
    /// A list without numbers.
    List,
    /// A list with numbers, from `level` on.
    Numbered,
    /// An entry of a list.
    Item,
    /// A task that is done, first in an entry.
    Done,
    /// A task that is not, likewise.
    Todo,
    /// A table.
    Table,
    /// The head of a table: cells.
    Head,
    /// A row of a table: cells.
    Row,
    /// A cell.
    Cell,
    /// A line across.
    Rule,
}

/// A part of a text, with the parts in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkdownNode {
    /// What it is.
    pub tag: MarkdownTag,
    /// Its text; only text, code and lines of code have one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where a link leads: an address of the web, or a path of this console.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub href: Option<String>,
    /// Of a heading from 1 to 6; of a list with numbers the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u64>,
    /// The parts in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<MarkdownNode>,
}

impl MarkdownNode {
    const fn new(tag: MarkdownTag) -> Self {
        Self { tag, text: String::new(), href: None, level: None, children: Vec::new() }
    }

    fn of_text(tag: MarkdownTag, text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::new(tag) }
    }
}

/// The tree of a text. Every text has one: what is no Markdown is text.
pub fn markdown(text: &str) -> Vec<MarkdownNode> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = MarkdownTree::default();
    for event in TextMergeStream::new(Parser::new_ext(text, options)) {
        tree.take(event);
        if tree.count > MAX_NODES {
            tree.cut();
            break;
        }
    }
    tree.finish()
}

/// The tree of a text that is shown as it was written, line by line.
pub fn plain(text: &str) -> Vec<MarkdownNode> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut paragraph = MarkdownNode::new(MarkdownTag::Paragraph);
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            paragraph.children.push(MarkdownNode::new(MarkdownTag::Break));
        }
        paragraph.children.push(MarkdownNode::of_text(MarkdownTag::Text, line));
    }
    vec![paragraph]
}

/// Where a link may lead; none for what is neither an address of the web nor a path of this console.
pub fn link_target(address: &str) -> Option<String> {
    let is_clean = !address.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
    let lower = address.to_ascii_lowercase();
    let is_web = ["http://", "https://"].iter().any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme));
    let is_own = address.starts_with('/') && !address.starts_with("//");
    (is_clean && (is_web || is_own)).then(|| address.to_owned())
}

/// A tree that is being made.
#[derive(Default)]
struct MarkdownTree {
    roots: Vec<MarkdownNode>,
    /// The nodes that are open, the outermost first; none for one that is too deep: then its parts are its parent's.
    open: Vec<Option<MarkdownNode>>,
    /// Within how many links.
    links: usize,
    /// How many nodes there are.
    count: usize,
}

impl MarkdownTree {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.put(MarkdownNode::of_text(MarkdownTag::Code, &text));
            }
            // HTML is what somebody wrote, not what it would do.
            Event::Html(text) | Event::InlineHtml(text) | Event::FootnoteReference(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.put(MarkdownNode::new(MarkdownTag::Break)),
            Event::Rule => self.put(MarkdownNode::new(MarkdownTag::Rule)),
            Event::TaskListMarker(done) => {
                self.put(MarkdownNode::new(if done { MarkdownTag::Done } else { MarkdownTag::Todo }));
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        let is_open = self.open.len() < MAX_DEPTH;
        self.links += usize::from(is_open && matches!(tag, Tag::Link { .. } | Tag::Image { .. }));
        let node = match tag {
            Tag::Heading { level, .. } => {
                MarkdownNode { level: Some(depth_of(level)), ..MarkdownNode::new(MarkdownTag::Heading) }
            }
            Tag::List(Some(first)) => MarkdownNode { level: Some(first), ..MarkdownNode::new(MarkdownTag::Numbered) },
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                MarkdownNode { href: Some(dest_url.to_string()), ..MarkdownNode::new(MarkdownTag::Link) }
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                MarkdownNode { href: Some(language), ..MarkdownNode::new(MarkdownTag::Pre) }
            }
            Tag::BlockQuote(_) => MarkdownNode::new(MarkdownTag::Quote),
            Tag::List(None) => MarkdownNode::new(MarkdownTag::List),
            Tag::Item => MarkdownNode::new(MarkdownTag::Item),
            Tag::Table(_) => MarkdownNode::new(MarkdownTag::Table),
            Tag::TableHead => MarkdownNode::new(MarkdownTag::Head),
            Tag::TableRow => MarkdownNode::new(MarkdownTag::Row),
            Tag::TableCell => MarkdownNode::new(MarkdownTag::Cell),
            Tag::Emphasis | Tag::Superscript | Tag::Subscript => MarkdownNode::new(MarkdownTag::Emphasis),
            Tag::Strong => MarkdownNode::new(MarkdownTag::Strong),
            Tag::Strikethrough => MarkdownNode::new(MarkdownTag::Struck),
            _ => MarkdownNode::new(MarkdownTag::Paragraph),
        };
        self.open.push(is_open.then_some(node));
    }

    fn end(&mut self) {
        let Some(closed) = self.open.pop() else { return };
        let Some(mut node) = closed else { return };
        match node.tag {
            MarkdownTag::Link => {
                self.links = self.links.saturating_sub(1);
                let address = node.href.take().unwrap_or_default();
                node.href = link_target(&address);
                if node.href.is_none() {
                    return self.not_a_link(node, &address);
                }
                if node.children.is_empty() {
                    node.children.push(MarkdownNode::of_text(MarkdownTag::Text, &address));
                }
            }
            // The language of code is no address.
            MarkdownTag::Pre => {
                node.href = None;
                node.text = node.children.drain(..).map(|child| child.text).collect();
            }
            _ => {}
        }
        self.put(node);
    }

    /// What a link would have shown, and the address that it does not lead to.
    fn not_a_link(&mut self, node: MarkdownNode, address: &str) {
        for child in node.children {
            self.put(child);
        }
        if !address.is_empty() {
            self.put(MarkdownNode::of_text(MarkdownTag::Text, &format!(" ({address})")));
        }
    }

    /// Text, in which addresses of the web are links where they stand by themselves.
    fn text(&mut self, text: &str) {
        let is_code = matches!(self.open.last(), Some(Some(node)) if node.tag == MarkdownTag::Pre);
        if self.links > 0 || is_code {
            return self.put(MarkdownNode::of_text(MarkdownTag::Text, text));
        }
        let mut rest = text;
        while let Some((before, address, after)) = address_in(rest) {
            if !before.is_empty() {
                self.put(MarkdownNode::of_text(MarkdownTag::Text, before));
            }
            let shown = MarkdownNode::of_text(MarkdownTag::Text, address);
            let href = link_target(address);
            self.put(MarkdownNode { href, children: vec![shown], ..MarkdownNode::new(MarkdownTag::Link) });
            rest = after;
        }
        if !rest.is_empty() {
            self.put(MarkdownNode::of_text(MarkdownTag::Text, rest));
        }
    }

    fn put(&mut self, node: MarkdownNode) {
        self.count += 1;
        let parent = self.open.iter_mut().rev().find_map(Option::as_mut);
        parent.map_or(&mut self.roots, |parent| &mut parent.children).push(node);
    }

    /// Says that the rest is left out.
    fn cut(&mut self) {
        while !self.open.is_empty() {
            self.end();
        }
        let mut said = MarkdownNode::new(MarkdownTag::Paragraph);
        let words = format!("The rest of this text is not shown: it has more than {MAX_NODES} parts.");
        said.children.push(MarkdownNode::of_text(MarkdownTag::Text, &words));
        self.roots.push(said);
    }

    fn finish(mut self) -> Vec<MarkdownNode> {
        while !self.open.is_empty() {
            self.end();
        }
        self.roots
    }
}

const fn depth_of(level: HeadingLevel) -> u64 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// The first address of the web that begins a word: what is before it, itself, and what is after it.
fn address_in(text: &str) -> Option<(&str, &str, &str)> {
    let begins = |at: &usize| text[..*at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([\"'<".contains(c));
    let schemes = ["https://", "http://"];
    let starts = schemes.iter().flat_map(|scheme| text.match_indices(scheme).map(|(at, _)| at));
    let start = starts.filter(begins).min()?;
    let word = text[start..].find(|c: char| c.is_whitespace() || "<>\"".contains(c));
    let word = &text[start..word.map_or(text.len(), |end| start + end)];
    let address = word.trim_end_matches(|c: char| ".,;:!?)]'".contains(c));
    link_target(address)?;
    Some((&text[..start], address, &text[start + address.len()..]))
}

#[cfg(test)]
mod tests;
