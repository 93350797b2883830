//! Names that try to be something else than text (P11, P12), through every view.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::fixture;

use bathyscope_capture::{ShownCell, visible};
use bathyscope_views::{
    FlameQuery, Group, RowsQuery, SvgOptions, TimeRange, TimelineQuery, flame, page, svg, timeline,
};
use fixture::{GO, hostile, hostile_names, xml::Item};

#[test]
fn every_view_shows_hostile_names_as_text() {
    let source = hostile();
    let names = hostile_names();
    let query = FlameQuery { width: 8192, ..FlameQuery::default() };
    let graph = flame(&source, &query, &GO).unwrap();
    assert_eq!(graph.total, 3 * names.len() as u64);
    for name in &graph.names {
        assert!(!name.contains(|c: char| c.is_control() || "\u{202e}\u{2066}\u{200b}\u{feff}".contains(c)), "{name:?}");
    }
    for name in &names {
        assert!(graph.names.contains(&visible(name)), "{name:?} is missing");
    }
    let rows = page(&source, &RowsQuery { limit: 1000, ..RowsQuery::new(1) }, &GO).unwrap();
    for (row, name) in rows.rows.iter().zip(&names) {
        let text = ShownCell::Text(visible(name));
        assert_eq!((row.get(4), row.get(5)), (Some(&text), Some(&text)));
    }
    let range = TimeRange::of(&source);
    let query =
        TimelineQuery { range, width: 100, group: Group::Thread, filter: None, limit_tracks: 1000, streams: None };
    let window = timeline(&source, &query, &GO).unwrap();
    assert_eq!(window.tracks.len(), names.len());
    for text in window.tracks.iter().map(|track| &track.label).chain(&window.names) {
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}

#[test]
fn the_svg_has_no_element_or_attribute_that_we_did_not_write() {
    let source = hostile();
    for invert in [false, true] {
        let graph = flame(&source, &FlameQuery { width: 8192, invert, ..FlameQuery::default() }, &GO).unwrap();
        for (name, script) in hostile_names().into_iter().zip([false, true].into_iter().cycle()) {
            let text = String::from_utf8_lossy(&name).into_owned();
            let options = SvgOptions {
                script,
                title: text.clone(),
                subtitle: text.clone(),
                notice: text,
                width: 4000,
                ..SvgOptions::default()
            };
            let drawn = svg(&graph, &options);
            let mut scripts = 0;
            for item in fixture::xml::read(&drawn).unwrap() {
                let Item::Begin(element, attributes) = item else { continue };
                let known = ["svg", "title", "style", "text", "rect", "g"];
                scripts += usize::from(element == "script");
                assert!(known.contains(&element.as_str()) || (element == "script" && script), "<{element}>");
                for (key, value) in attributes {
                    let known = ["class", "x", "y", "width", "height", "viewBox", "xmlns", "role"];
                    let of_buttons = ["id", "tabindex", "style"];
                    assert!(
                        (script && of_buttons.contains(&key.as_str())) || known.contains(&key.as_str()),
                        "{key}={value}"
                    );
                    let plain = |c: char| c.is_ascii_alphanumeric() || " .:/-".contains(c);
                    assert!(value.chars().all(plain), "{key}={value}");
                }
            }
            assert_eq!((drawn, scripts), (svg(&graph, &options), usize::from(script)));
        }
    }
}

#[test]
fn every_name_can_be_read_in_the_svg() {
    let graph = flame(&hostile(), &FlameQuery { width: 8192, ..FlameQuery::default() }, &GO).unwrap();
    let drawn = svg(&graph, &SvgOptions { width: 8192, ..SvgOptions::default() });
    let items = fixture::xml::read(&drawn).unwrap();
    let texts: Vec<&str> =
        items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text.as_str()) } else { None }).collect();
    for name in hostile_names() {
        // XML cannot hold two characters that `visible` leaves alone.
        let shown = visible(&name).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}");
        assert!(texts.iter().any(|text| text.starts_with(&format!("{shown} (process, "))), "{shown}");
    }
    // The style is the only element with text that is not for people, and it refers to nothing outside.
    assert!(!drawn.contains("url(") && !drawn.contains("@import"));
    let refers = |item: &Item| matches!(item, Item::Begin(_, attributes) if attributes.iter().any(|(name, _)| name.ends_with("href")));
    assert!(!items.iter().any(refers));
}
