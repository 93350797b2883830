//! Examples of the language, for its reference page: short scripts in `bpf/examples`, each of which compiles and runs.

/// An example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its name: `histograms`.
    pub name: &'static str,
    /// Its heading: `Histograms`.
    pub title: &'static str,
    /// The heading under which it stands: `Maps`.
    pub section: &'static str,
    /// What it shows, as comment lines; words of the language are between backquotes. See [`Example::prose`].
    pub about: &'static str,
    /// The script, without the comment that says all this.
    pub script: &'static str,
}

/// File names without their ending, and contents.
const FILES: &[(&str, &str)] = &[
    ("01_hello", include_str!("../examples/01_hello.bt")),
    ("02_predicate", include_str!("../examples/02_predicate.bt")),
    ("03_several", include_str!("../examples/03_several.bt")),
    ("04_macro", include_str!("../examples/04_macro.bt")),
    ("05_parameters", include_str!("../examples/05_parameters.bt")),
    ("06_tracepoint", include_str!("../examples/06_tracepoint.bt")),
    ("07_rawtracepoint", include_str!("../examples/07_rawtracepoint.bt")),
    ("08_profile", include_str!("../examples/08_profile.bt")),
    ("09_interval", include_str!("../examples/09_interval.bt")),
    ("10_uprobe", include_str!("../examples/10_uprobe.bt")),
    ("11_software", include_str!("../examples/11_software.bt")),
    ("12_kprobe", include_str!("../examples/12_kprobe.bt")),
    ("13_numbers", include_str!("../examples/13_numbers.bt")),
    ("14_texts", include_str!("../examples/14_texts.bt")),
    ("15_structures", include_str!("../examples/15_structures.bt")),
    ("16_own_structures", include_str!("../examples/16_own_structures.bt")),
    ("17_tuples", include_str!("../examples/17_tuples.bt")),
    ("18_maps", include_str!("../examples/18_maps.bt")),
    ("19_histograms", include_str!("../examples/19_histograms.bt")),
    ("20_statistics", include_str!("../examples/20_statistics.bt")),
    ("21_top", include_str!("../examples/21_top.bt")),
    ("22_declared", include_str!("../examples/22_declared.bt")),
    ("23_conditions", include_str!("../examples/23_conditions.bt")),
    ("24_loops", include_str!("../examples/24_loops.bt")),
    ("25_stacks", include_str!("../examples/25_stacks.bt")),
    ("26_symbols", include_str!("../examples/26_symbols.bt")),
    ("27_times", include_str!("../examples/27_times.bt")),
];

/// All of them, in the order of the page.
pub fn examples() -> Vec<Example> {
    FILES.iter().filter_map(|(file, text)| parse(file, text)).collect()
}

/// `NN_name`, and: `// title`, `// section: …`, comment lines, an empty line, the script.
fn parse(file: &'static str, text: &'static str) -> Option<Example> {
    let (_order, name) = file.split_once('_')?;
    let (head, script) = text.split_once("\n\n")?;
    let (title, rest) = head.strip_prefix("// ")?.split_once('\n')?;
    let (section, about) = rest.strip_prefix("// section: ")?.split_once('\n')?;
    Some(Example { name, title, section, about, script })
}

impl Example {
    /// What it shows, as one line of text.
    pub fn prose(&self) -> String {
        let lines = self.about.lines().map(|line| line.trim_start_matches("//").trim());
        lines.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn every_file_is_an_example() {
        let found = examples();
        assert_eq!(found.len(), FILES.len());
        for example in found {
            assert!(!example.script.is_empty() && example.script.ends_with('\n'), "{}", example.name);
            assert!(example.prose().ends_with('.') && !example.prose().contains("//"), "{}", example.name);
        }
    }

    #[test]
    fn no_file_is_forgotten() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
        let files = std::fs::read_dir(folder)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "bt"));
        assert_eq!(files.count(), FILES.len());
    }
}
