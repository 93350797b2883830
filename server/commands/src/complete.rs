//! The word of a command that is being typed → what it may become. Options come from the tables by which tools are read; of events,
//! functions, processes and files only the kind is told, which whoever knows the host looks up.

use bathyscope_catalog::{constants::Arch, syscalls::definitions};

use crate::{
    answer::Marks,
    call::Call,
    host::Host,
    options::{Meaning, Rule, Table, Takes},
    paste::MAX_COMMAND_BYTES,
    shell::{self, Word},
    tools::{self, Before},
};

/// The most words that are offered.
const MAX_ITEMS: usize = 40;

/// What a word is to name that only a host knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedName {
    /// A tracepoint, a kept probe or an event of perf.
    Event,
    /// A tracepoint or a kept probe, and no event of perf.
    Tracepoint,
    /// A function: of the kernel, or of a file.
    Function {
        /// The file.
        file: Option<String>,
    },
    /// A process, by its id.
    Process,
    /// A program or a library.
    File,
    /// A user of the system.
    User,
    /// A field of a tracepoint.
    Field {
        /// The tracepoint, as it was typed.
        event: String,
    },
}

/// A word that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedWord {
    /// The word.
    pub text: String,
    /// What should be known about it.
    pub detail: String,
}

/// What a word may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordCompletion {
    /// The first byte of the text that is replaced.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
    /// What stands there now.
    pub typed: String,
    /// Words, at most 40.
    pub words: Vec<OfferedWord>,
    /// What has to be looked up.
    pub wanted: Option<WantedName>,
}

/// Where typing goes on.
struct Place {
    /// Where the command begins.
    command: usize,
    /// Where its last word begins, with its quote.
    word: usize,
    /// Where the text of that word begins.
    text: usize,
    /// Whether that is within quotes.
    is_quoted: bool,
}

/// Finds the word at the end of a text.
fn place_of(head: &str) -> Place {
    let mut place = Place { command: 0, word: 0, text: 0, is_quoted: false };
    let mut quote = None;
    let mut is_escaped = false;
    for (at, sign) in head.char_indices() {
        let behind = at + sign.len_utf8();
        match (quote, sign) {
            _ if is_escaped => is_escaped = false,
            (Some(open), sign) if sign == open => quote = None,
            (Some('"') | None, '\\') => is_escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(sign);
                if at == place.word {
                    place.text = behind;
                }
            }
            (None, ';' | '|' | '&' | '\n') => {
                place = Place { command: behind, word: behind, text: behind, is_quoted: false };
            }
            (None, sign) if sign.is_whitespace() => (place.word, place.text) = (behind, behind),
            (None, _) => {}
        }
    }
    place.is_quoted = quote.is_some();
    place
}

/// What the word before the byte `at` may become; none where nothing is known of it.
pub fn complete(text: &str, at: usize, host: &dyn Host) -> Option<WordCompletion> {
    let head = text.get(..at).filter(|head| head.len() <= MAX_COMMAND_BYTES)?;
    let place = place_of(head);
    let typed = head.get(place.text..)?;
    let before = head.get(place.command..place.word)?;
    let lines = shell::read(before, &|_| false).ok()?;
    let words = lines.pipelines.last().and_then(|one| one.commands.last()).map(|one| one.words.as_slice());
    let words = words.unwrap_or_default();
    let mut marks = Marks::default();
    let Before { start, .. } = tools::before(words, &mut marks).ok()?;
    let Some((name, behind)) = words.get(start..).and_then(<[Word]>::split_first) else {
        return (!typed.is_empty()).then(|| offered(typed, at, tools::names().map(|name| (name, "a tool")))).flatten();
    };
    let tool = tools::bare_name(&name.text);
    let commands = tools::commands_of(&tool);
    if behind.is_empty() && !commands.is_empty() {
        return offered(typed, at, commands.iter().map(|name| (*name, "a command of it")));
    }
    let mut call = Call {
        name,
        tool,
        words: behind,
        redirects: &[],
        host,
        marks: &mut marks,
        probes: &[],
        files: &[],
        settings: &[],
    };
    // What is not whole yet is refused; by which table it was read is known all the same.
    let _read_or_not = tools::read(&mut call);
    let table = marks.table()?;
    Typing { table, behind, typed, at, is_quoted: place.is_quoted }.completion()
}

fn offered<'a>(typed: &str, at: usize, words: impl Iterator<Item = (&'a str, &'a str)>) -> Option<WordCompletion> {
    let mut offered: Vec<OfferedWord> = Vec::new();
    for (word, detail) in words.filter(|(word, _)| word.starts_with(typed) && *word != typed) {
        if offered.len() < MAX_ITEMS && !offered.iter().any(|known| known.text == word) {
            offered.push(OfferedWord { text: word.to_owned(), detail: detail.to_owned() });
        }
    }
    let words = offered;
    let start = at - typed.len();
    (!words.is_empty()).then(|| WordCompletion { start, end: at, typed: typed.to_owned(), words, wanted: None })
}

/// A word behind a tool.
struct Typing<'a> {
    table: Table,
    behind: &'a [Word],
    typed: &'a str,
    at: usize,
    is_quoted: bool,
}

impl Typing<'_> {
    fn completion(&self) -> Option<WordCompletion> {
        if let Some((rule, value)) = self.value() {
            return self.of_value(rule, value);
        }
        if self.typed.starts_with('-') && !self.is_quoted {
            return self.options();
        }
        self.operand()
    }

    /// The option whose value the word is, and the value so far.
    fn value(&self) -> Option<(&'static Rule, &str)> {
        let rule = |name: &str| self.table.rules.iter().find(|rule| rule.names.contains(&name));
        if let Some((name, value)) = self.typed.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            return rule(name).map(|rule| (rule, value));
        }
        let last = self.behind.last().filter(|last| last.text.starts_with('-') && last.text != "--")?;
        let by_letter = || {
            let letter = last.text.chars().next_back().filter(|_| !last.text.starts_with("--"))?;
            rule(&format!("-{letter}"))
        };
        let rule = rule(&last.text).or_else(by_letter)?;
        matches!(rule.takes, Takes::Value | Takes::Maybe).then_some((rule, self.typed))
    }

    fn options(&self) -> Option<WordCompletion> {
        let mut words: Vec<(bool, OfferedWord)> = Vec::new();
        for rule in self.table.rules {
            let (is_taken, about) = match rule.meaning {
                Meaning::Taken => (true, String::new()),
                Meaning::Ignored(why) => (false, format!("has no meaning here: {why}")),
                Meaning::Refused(..) => continue,
            };
            let mut fitting = rule.names.iter().filter(|name| name.starts_with(self.typed) && **name != self.typed);
            let Some(name) = fitting.next() else { continue };
            let others: Vec<&str> = rule.names.iter().copied().filter(|other| other != name).collect();
            let value = if rule.takes == Takes::Value { "with a value" } else { "" };
            let parts = [others.join(", "), value.to_owned(), about];
            let detail = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
            words.push((is_taken, OfferedWord { text: (*name).to_owned(), detail }));
        }
        words.sort_by_key(|(is_taken, _)| !is_taken);
        let words: Vec<OfferedWord> = words.into_iter().map(|(_, word)| word).take(MAX_ITEMS).collect();
        (!words.is_empty()).then(|| self.of(self.typed, words, None))
    }

    fn of(&self, typed: &str, words: Vec<OfferedWord>, wanted: Option<WantedName>) -> WordCompletion {
        WordCompletion { start: self.at - typed.len(), end: self.at, typed: typed.to_owned(), words, wanted }
    }

    /// The part behind the last of some signs.
    fn tail<'t>(value: &'t str, signs: &[char]) -> &'t str {
        value.rfind(signs).and_then(|at| value.get(at + 1..)).unwrap_or(value)
    }

    fn of_value(&self, rule: &Rule, value: &str) -> Option<WordCompletion> {
        let key = rule.names.first().copied().unwrap_or_default();
        let item = Self::tail(value, &[',', '{', '=', '!', '%']);
        let file = || self.text_behind("-x");
        match (self.table.tool, key) {
            ("strace", "-e") => self.calls(item),
            ("perf trace", "-e") if !item.contains(':') => {
                let calls = self.calls(item).map(|found| found.words).unwrap_or_default();
                Some(self.of(item, calls, Some(WantedName::Tracepoint)))
            }
            ("trace-cmd record", "-p") => {
                let names = ["function", "function_graph", "nop", "irqsoff", "preemptoff", "wakeup", "hwlat"];
                offered(item, self.at, names.into_iter().map(|name| (name, "a tracer")))
            }
            ("trace-cmd record" | "perf trace", "-e") => Some(self.of(item, Vec::new(), Some(WantedName::Tracepoint))),
            (tool, "-e") if tool.starts_with("perf") => Some(self.of(item, Vec::new(), Some(WantedName::Event))),
            ("bpftrace" | "ply", "-e") => self.of_script(value),
            ("trace-cmd record", "-g" | "-l" | "-n") => self.function(item, None),
            ("perf probe", "-a" | "-V" | "-F") => self.function(value, file()),
            (_, "-x" | "--exec") if self.table.tool == "perf probe" => {
                Some(self.of(value, Vec::new(), Some(WantedName::File)))
            }
            (_, "--filter" | "-f" | "-R") => {
                let event = self.text_behind("-e")?;
                let field = Self::tail(value, &[' ', '(', '&', '|', '!', '=']);
                Some(self.of(field, Vec::new(), Some(WantedName::Field { event })))
            }
            ("trace-cmd record", "-P") | (_, "-p" | "--pid") => {
                Some(self.of(item, Vec::new(), Some(WantedName::Process)))
            }
            (_, "-u" | "--user" | "--uid") => Some(self.of(value, Vec::new(), Some(WantedName::User))),
            _ => None,
        }
    }

    /// What stands behind the last option of a name.
    fn text_behind(&self, option: &str) -> Option<String> {
        let at = self.behind.iter().rposition(|word| word.text == option)?;
        self.behind.get(at + 1).map(|word| word.text.clone())
    }

    fn function(&self, typed: &str, file: Option<String>) -> Option<WordCompletion> {
        // Behind the place stand arguments.
        if typed.contains(char::is_whitespace) {
            return None;
        }
        let name = Self::tail(typed, &['=', ':']);
        Some(self.of(name, Vec::new(), Some(WantedName::Function { file })))
    }

    fn calls(&self, item: &str) -> Option<WordCompletion> {
        if item.is_empty() {
            return None;
        }
        let mut names: Vec<&str> = definitions(Arch::HOST).map(|(_, call)| call.name).collect();
        names.sort_unstable();
        names.dedup();
        offered(item, self.at, names.into_iter().map(|name| (name, "a system call")))
    }

    /// A place that a script of the probe language is attached to.
    fn of_script(&self, value: &str) -> Option<WordCompletion> {
        let token = Self::tail(value, &[' ', ',', '\n', '\t', '{', '}', ';']);
        let (provider, place) = token.split_once(':')?;
        let wanted = match provider {
            "tracepoint" | "t" | "rawtracepoint" => WantedName::Tracepoint,
            "kprobe" | "k" | "kretprobe" | "kr" | "fentry" | "f" | "fexit" | "fr" | "kfunc" | "kretfunc" => {
                WantedName::Function { file: None }
            }
            "uprobe" | "u" | "uretprobe" | "ur" | "usdt" | "U" if !place.contains(':') => WantedName::File,
            "uprobe" | "u" | "uretprobe" | "ur" => {
                let (file, function) = place.rsplit_once(':')?;
                return Some(self.of(function, Vec::new(), Some(WantedName::Function { file: Some(file.to_owned()) })));
            }
            _ => return None,
        };
        Some(self.of(place, Vec::new(), Some(wanted)))
    }

    fn operand(&self) -> Option<WordCompletion> {
        match self.table.tool {
            "perf probe" => self.function(self.typed, self.text_behind("-x")),
            "funccount" | "funclatency" | "stackcount" => self.function(self.typed, None),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnknownHost;

    /// What is offered at the end of a text: words, or the kind of a name and what is typed of it.
    fn at_end(text: &str) -> String {
        let Some(found) = complete(text, text.len(), &UnknownHost) else { return String::new() };
        assert_eq!(text.get(found.start..found.end), Some(found.typed.as_str()), "{text}");
        let words: Vec<&str> = found.words.iter().map(|word| word.text.as_str()).collect();
        match found.wanted {
            Some(wanted) => format!("{wanted:?} `{}` {}", found.typed, words.join(" ")).trim_end().to_owned(),
            None => words.join(" "),
        }
    }

    #[test]
    fn words_become_what_their_tool_takes() {
        let cases = [
            ("stra", "strace"),
            ("sudo perf rec", "record"),
            ("echo 1 > x; bpftr", "bpftrace"),
            ("strace -f -e opena", "openat openat2"),
            ("strace -e trace=read,opena", "openat openat2"),
            ("perf stat -e cs,page-f", "Event `page-f`"),
            ("perf record -e '{cycles,sched:sc", "Event `sched:sc`"),
            ("perf record -g -p ", "Process ``"),
            ("perf record --pid=12", "Process `12`"),
            ("perf record -agp 1", "Process `1`"),
            ("perf record -e kmem:kmalloc --filter 'bytes_r", r#"Field { event: "kmem:kmalloc" } `bytes_r`"#),
            ("trace-cmd record -e kmem:kmalloc -f 'ptr && bytes_r", r#"Field { event: "kmem:kmalloc" } `bytes_r`"#),
            ("perf probe --add vfs_r", "Function { file: None } `vfs_r`"),
            ("perf probe --add 'x=vfs_r", "Function { file: None } `vfs_r`"),
            ("perf probe --add 'vfs_read cou", ""),
            ("perf probe -x bash --add readl", r#"Function { file: Some("bash") } `readl`"#),
            ("perf probe -x /bin/ba", "File `/bin/ba`"),
            ("trace-cmd record -p function_g", "function_graph"),
            ("trace-cmd record -p function_graph -g do_s", "Function { file: None } `do_s`"),
            ("funccount vfs_", "Function { file: None } `vfs_`"),
            ("opensnoop -p 1", "Process `1`"),
            ("bpftrace -e 'tracepoint:sched:sched_s", "Tracepoint `sched:sched_s`"),
            ("bpftrace -e 'kprobe:vfs_", "Function { file: None } `vfs_`"),
            ("bpftrace -e 'uprobe:/bin/bash:readl", r#"Function { file: Some("/bin/bash") } `readl`"#),
            ("bpftrace -e 'tracepoint:a:b { @[co", ""),
            ("perf trace -e sched:sched_s", "Tracepoint `sched:sched_s`"),
            ("perf record -u ro", "User `ro`"),
            ("ls -l", ""),
            ("", ""),
            ("perf record --call-gr", "--call-graph"),
        ];
        let wrong = cases.iter().filter(|(text, expected)| at_end(text) != *expected);
        let wrong: Vec<String> = wrong.map(|(text, _)| format!("{text}: {}", at_end(text))).collect();
        assert_eq!(wrong, [""; 0]);
        let options = complete("perf record -", 13, &UnknownHost).unwrap().words;
        let of = |name: &str| options.iter().position(|word| word.text == name);
        assert!(of("-g") < of("-o"), "what is taken stands first: {options:?}");
        assert!(!options.iter().any(|word| word.text == "-h"), "what is refused is not offered");
        let ignored = options.iter().find(|word| word.text == "-o").unwrap();
        assert!(ignored.detail.contains("has no meaning here"), "{ignored:?}");
    }

    #[test]
    fn no_place_in_a_text_breaks_it() {
        let text = "sudo perf record -e 'a:b' --filter \"x == 'é'\" -p $(pgrep x) | less; bpftrace -e 'kprobe:é \\";
        for at in 0..=text.len() + 2 {
            let _completed_or_not = complete(text, at, &UnknownHost);
        }
    }
}
