#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;

use super::*;
use crate::lang::{ExpandOptions, OptionKind, ast, expand, parse as parse_script, print, render, script_options};

fn tools() -> Vec<Tool> {
    table::SCRIPTS.iter().map(|(name, text)| parse(name, text).unwrap_or_else(|it| panic!("{it}"))).collect()
}

#[test]
fn every_script_of_the_folder_is_on_the_shelf() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .map(|it| it.strip_suffix(".bt").unwrap_or_else(|| panic!("{it} is no script")).to_owned())
        .collect();
    files.sort();
    let names: Vec<&str> = table::SCRIPTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, files);
    assert!(names.len() >= 44);
}

#[test]
fn all_headers_are_complete() {
    for tool in tools() {
        assert_eq!(find(tool.name), Some(&tool));
        assert!(tool.title.len() > 5 && tool.title.len() < 70, "{}: title", tool.name);
        assert!(tool.purpose.ends_with('.') && tool.purpose.len() > 40, "{}: purpose", tool.name);
        assert!(tool.text.lines().all(|it| it.chars().count() <= 120), "{}: long lines", tool.name);
        assert!(tool.text.ends_with("}\n") && !tool.text.contains('\t'), "{}: form", tool.name);
        if let Some(since) = tool.since {
            let (major, minor) = since.split_once('.').unwrap();
            assert!(major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok(), "{}: since", tool.name);
        }
    }
    assert_eq!(all().len(), table::SCRIPTS.len());
    for group in Group::ALL {
        assert!(all().iter().any(|it| it.group == group), "{group:?}");
    }
    assert_eq!(find("nothing"), None);
}

/// Parameters that a header promises.
fn example(tool: &Tool) -> Vec<String> {
    tool.parameters.iter().filter(|it| it.name.starts_with('$')).map(|it| format!("example{}", &it.name[1..])).collect()
}

#[test]
fn every_script_is_read_and_does_what_its_header_says() {
    for tool in tools() {
        let report = |errors: Vec<bathyscope_plan::Diagnostic>| -> String {
            errors.iter().map(|it| render(tool.text, tool.name, it) + "\n").collect()
        };
        let script = parse_script(tool.text).map_err(report).unwrap_or_else(|it| panic!("{it}"));
        let params = example(&tool);
        let options = ExpandOptions { params: params.clone(), environment: Vec::new() };
        let expanded = expand(&script, &options).map_err(report).unwrap_or_else(|it| panic!("{it}"));
        assert!(expanded.warnings.is_empty(), "{}: {:?}", tool.name, expanded.warnings);

        let used: BTreeSet<&str> = script
            .items
            .iter()
            .filter_map(|it| if let ast::Item::Probe(probe) = it { Some(probe) } else { None })
            .flat_map(|it| &it.points)
            .map(|it| it.parts[0].text.as_str())
            .filter(|it| !matches!(*it, "begin" | "end"))
            .map(|it| match it {
                "uretprobe" => "uprobe",
                "kretprobe" => "kprobe",
                other => other,
            })
            .collect();
        assert_eq!(used, tool.needs.iter().copied().collect(), "{}: needs", tool.name);

        let promised: Vec<(&str, &str, &str)> = tool
            .parameters
            .iter()
            .filter_map(|it| Some((it.name.strip_prefix("--")?, it.default?, it.description)))
            .collect();
        let taken = script_options(&script);
        let shown: Vec<String> = taken
            .iter()
            .map(|it| match &it.kind {
                OptionKind::Bool(value) => value.to_string(),
                OptionKind::Integer(value) => value.to_string(),
                OptionKind::Text(value) => String::from_utf8(value.clone()).unwrap(),
            })
            .collect();
        let taken: Vec<(&str, &str, &str)> = taken
            .iter()
            .zip(&shown)
            .map(|(it, shown)| (it.name.as_str(), shown.as_str(), it.description.as_str()))
            .collect();
        assert_eq!(promised, taken, "{}: options", tool.name);
        assert_eq!(promised.len() + params.len(), tool.parameters.len(), "{}: parameters", tool.name);

        // Every positional parameter that is promised is used, and no other is.
        let printed = print(&expanded.script, tool.text);
        for param in &params {
            assert!(printed.contains(param.as_str()), "{}: {param} is not used", tool.name);
        }
        let fewer = ExpandOptions { params: params.iter().skip(1).cloned().collect(), environment: Vec::new() };
        assert_eq!(expand(&script, &fewer).is_err(), !params.is_empty(), "{}: a parameter too few", tool.name);
    }
}

#[test]
fn bad_headers_are_refused() {
    let good = "// a: title\n//\n// group: cpu\n// purpose: b\n//   c\n// parameters:\n//   $1:file - d\n//   --e=5 - f\n\
                // view: flame\n// needs: kprobe, interval\n// usual: g\n//   h\n\nbegin { }";
    let tool = parse("a", good).unwrap();
    assert_eq!((tool.purpose.as_str(), tool.usual.as_deref()), ("b c", Some("g h")));
    assert_eq!(
        tool.parameters[0],
        Parameter { name: "$1", default: None, takes: Some(NameKind::File), description: "d" }
    );
    assert_eq!(tool.parameters[1], Parameter { name: "--e", default: Some("5"), takes: None, description: "f" });
    assert_eq!(tool.needs, ["kprobe", "interval"]);
    let cases = [
        ("", HeaderError::Title("a")),
        ("// b: title\n", HeaderError::Title("a")),
        ("// a: title\n// group: cpu\n", HeaderError::Missing("a", "view")),
        ("// a: title\n// grup: cpu\n", HeaderError::Line("a", " grup: cpu".to_owned())),
        ("// a: title\n//   more\n", HeaderError::Line("a", "   more".to_owned())),
        (
            "// a: title\n// group: x\n// view: table\n// purpose: x\n// parameters: none\n// needs: x\n",
            HeaderError::Line("a", "x".to_owned()),
        ),
        (
            "// a: title\n// group: cpu\n// view: table\n// purpose: x\n// parameters:\n//   x - y\n// needs: x\n",
            HeaderError::Line("a", "x - y".to_owned()),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse("a", text).unwrap_err(), expected, "{text}");
    }
}
