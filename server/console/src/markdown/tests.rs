//! Texts and their trees, and that nothing but the tree comes of hostile ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;

/// A tree in one line: `tag(children)`, text in quotes.
fn written(nodes: &[MarkdownNode]) -> String {
    let one = |node: &MarkdownNode| {
        let tag = serde_json::to_value(node.tag).unwrap();
        let mut out = if node.tag == MarkdownTag::Text { String::new() } else { tag.as_str().unwrap().to_owned() };
        if let Some(level) = node.level {
            out += &level.to_string();
        }
        if let Some(href) = &node.href {
            out += &format!("<{href}>");
        }
        if !node.text.is_empty() {
            out += &format!("{:?}", node.text);
        }
        if !node.children.is_empty() {
            out += &format!("({})", written(&node.children));
        }
        out
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_are_trees() {
    for (text, tree) in [
        ("", ""),
        ("one\ntwo", r#"paragraph("one" break "two")"#),
        ("a **b** *c* ~~d~~ `e<f>`", r#"paragraph("a " strong("b") " " emphasis("c") " " struck("d") " " code"e<f>")"#),
        ("## Why\n\ntext", r#"heading2("Why") paragraph("text")"#),
        ("* a\n* b", r#"list(item("a") item("b"))"#),
        ("3. a\n4. b", r#"numbered3(item("a") item("b"))"#),
        ("- [x] done\n- [ ] not", r#"list(item(done "done") item(todo "not"))"#),
        ("> said", r#"quote(paragraph("said"))"#),
        ("```rust\nlet a = 1;\n```", r#"pre"let a = 1;\n""#),
        ("|a|b|\n|-|-|\n|1|2|", r#"table(head(cell("a") cell("b")) row(cell("1") cell("2")))"#),
        ("---", "rule"),
        ("[here](https://a.example/x)", r#"paragraph(link<https://a.example/x>("here"))"#),
        ("[view](/captures/00?tab=flame)", r#"paragraph(link</captures/00?tab=flame>("view"))"#),
        (
            "see https://a.example/b_c_d?e=1, and (http://f.example).",
            r#"paragraph("see " link<https://a.example/b_c_d?e=1>("https://a.example/b_c_d?e=1") ", and (" link<http://f.example>("http://f.example") ").")"#,
        ),
        ("<https://a.example>", r#"paragraph(link<https://a.example>("https://a.example"))"#),
        ("![shot](https://a.example/x.png)", r#"paragraph(link<https://a.example/x.png>("shot"))"#),
        ("![](https://a.example/x.png)", r#"paragraph(link<https://a.example/x.png>("https://a.example/x.png"))"#),
        ("`https://a.example`", r#"paragraph(code"https://a.example")"#),
    ] {
        assert_eq!(written(&markdown(text)), tree, "{text}");
    }
    assert_eq!(written(&plain("*a*\n  b\n")), r#"paragraph("*a*" break "  b")"#);
    assert!(plain("").is_empty());
}

#[test]
fn links_lead_to_the_web_and_to_this_console_only() {
    for address in ["https://a.example", "HTTP://a.example", "/captures/0?x=1", "/"] {
        assert_eq!(link_target(address).as_deref(), Some(address));
    }
    for address in [
        "",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://a.example/\u{202f}x",
        "http://",
        "ftp://a.example",
        "mailto:a@b.example",
        " https://a.example",
        "captures/0",
    ] {
        assert_eq!(link_target(address), None, "{address:?}");
    }
    assert_eq!(
        written(&markdown("[x](javascript:alert(1)) ![y](data:text/html,z)")),
        r#"paragraph("x" " (javascript:alert(1))" " " "y" " (data:text/html,z)")"#
    );
}

/// The names of promises.md 2.8, which are also tried as what people write.
const HOSTILE: [&str; 22] = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"><svg onload=alert(1)>",
    "';--",
    "$(reboot)",
    "`reboot`",
    ";touch /tmp/x",
    "-rf",
    "a\nb\tc",
    "constructor",
    "__proto__",
    "1e999",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "/abs/name",
    "a;b c",
    "[x](javascript:alert(1))",
    "[x](https://a.example\" onmouseover=\"alert(1))",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<!--><img src=x onerror=alert(1)>-->",
    "![x](x\"onerror=\"alert(1))",
    "<https://a.example/\"onmouseover=alert(1)>",
];

/// All texts of a tree, with the addresses of its links looked at.
fn texts(nodes: &[MarkdownNode], out: &mut String) {
    for node in nodes {
        assert!(node.href.as_deref().is_none_or(|href| link_target(href).is_some()), "{node:?}");
        assert_eq!(node.href.is_some(), node.tag == MarkdownTag::Link, "{node:?}");
        out.push_str(&node.text);
        texts(&node.children, out);
    }
}

#[test]
fn p12_hostile_texts_stay_texts() {
    for text in HOSTILE {
        for around in [text.to_owned(), format!("# {text}"), format!("> {text}"), format!("|{text}|\n|-|\n|{text}|")] {
            let mut all = String::new();
            texts(&markdown(&around), &mut all);
            // What would do something is to be read.
            for part in ["onerror", "onload", "alert(1)", "reboot"] {
                assert!(!around.contains(part) || all.contains(part), "{around}: {all}");
            }
        }
    }
}

#[test]
fn p16_a_tree_is_bounded() {
    fn depth(nodes: &[MarkdownNode]) -> usize {
        nodes.iter().map(|node| 1 + depth(&node.children)).max().unwrap_or(0)
    }
    let deep = markdown(&format!("{} bottom", ">".repeat(8000)));
    assert!(depth(&deep) <= MAX_DEPTH + 1, "{}", depth(&deep));
    let mut all = String::new();
    texts(&deep, &mut all);
    assert!(all.contains("bottom"));
    let (columns, rows) = (600, 2000);
    let wide = format!("{0}|\n{1}|\n{2}", "|a".repeat(columns), "|-".repeat(columns), "|b\n".repeat(rows));
    let tree = markdown(&wide);
    let mut all = String::new();
    texts(&tree, &mut all);
    assert!(all.contains("The rest of this text is not shown"));
    assert!(depth(&markdown(&"- ".repeat(4000))) <= MAX_DEPTH + 1);
    assert!(depth(&markdown(&"*_".repeat(4000))) <= MAX_DEPTH + 1);
}
