//! Cases as files have them.
//!
//! A case begins with `## name`. Lines `#: setting` follow, then the script; or, after `#: run`, nothing: then the words of
//! that line are all that is given to both programs. What ours answers where that is not what the reference does stands
//! in lines that begin with `#= `, in the form of the record.

use super::{answer::Answer, folder};

/// One script with what is done with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// Unique in its file.
    pub name: String,
    /// The script.
    pub script: String,
    /// Options before the script.
    pub options: Vec<String>,
    /// Words after it.
    pub params: Vec<String>,
    /// All words, instead of a script.
    pub run: Vec<String>,
    /// Variables of the environment.
    pub environment: Vec<(String, String)>,
    /// Whether what it prints on standard error is compared.
    pub compares_errors: bool,
    /// Whether the places of what it warns of are compared.
    pub compares_warnings: bool,
    /// Whether numbers in it vary from run to run.
    pub numbers_vary: bool,
    /// Whether the order of lines is of no interest.
    pub sorted: bool,
    /// Whether the script is given as a file.
    pub in_file: bool,
    /// Ends it by SIGINT after it has said this.
    pub interrupt_after: Option<String>,
    /// What ours says, where that is something else.
    pub ours: Option<Answer>,
}

impl Case {
    /// All cases of a file.
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let parts = text.split("\n## ").enumerate();
        parts
            .filter_map(|(index, part)| match index {
                0 => part.strip_prefix("## "),
                _ => Some(part),
            })
            .map(Self::one)
            .collect()
    }

    fn one(part: &str) -> Self {
        let (name, rest) = part.split_once('\n').unwrap_or((part, ""));
        let mut case = Self { name: name.trim().to_owned(), ..Self::default() };
        let (mut script, mut ours) = (Vec::new(), Vec::new());
        for line in rest.lines() {
            if let Some(line) = line.strip_prefix("#= ").or_else(|| (line == "#=").then_some("")) {
                ours.push(line);
            } else if let Some(setting) = line.strip_prefix("#: ") {
                case.set(setting);
            } else {
                script.push(line);
            }
        }
        case.script = script.join("\n").trim_end().to_owned();
        case.ours = (!ours.is_empty()).then(|| Answer::read(&ours.join("\n")));
        case
    }

    fn set(&mut self, setting: &str) {
        let (word, rest) = setting.split_once(' ').unwrap_or((setting, ""));
        let list = || split(rest);
        match word {
            "options" => self.options = list(),
            "params" => self.params = list(),
            "run" => self.run = list(),
            "environment" => {
                self.environment = list()
                    .iter()
                    .filter_map(|it| it.split_once('='))
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .collect();
            }
            "errors" => self.compares_errors = true,
            "warnings" => self.compares_warnings = true,
            "numbers-vary" => self.numbers_vary = true,
            "sorted" => self.sorted = true,
            "file" => self.in_file = true,
            "interrupt-after" => self.interrupt_after = Some(rest.to_owned()),
            _ => panic!("{}: there is no setting `{word}`", self.name),
        }
    }

    /// Whether it is about the program `tests/programs/work.c`.
    pub(crate) fn needs_program(&self) -> bool {
        let all = [&self.options, &self.params, &self.run].into_iter().flatten();
        all.chain([&self.script]).any(|word| word.contains("{work}") || word.contains("test-programs/"))
    }

    /// The script in one line, for messages.
    pub(crate) fn shown(&self) -> String {
        let words = if self.run.is_empty() { &self.options } else { &self.run };
        format!("{} {}", words.join(" "), self.script)
    }
}

/// Words with blanks between them; what stands in `'…'` is one.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quoted, mut open) = (false, false);
    for letter in text.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                if quoted && !open {
                    words.push(String::new());
                    open = true;
                }
            }
            ' ' if !quoted => open = false,
            letter => {
                if !open {
                    words.push(String::new());
                    open = true;
                }
                if let Some(word) = words.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    words
}

/// All cases of a file, whatever was chosen.
pub(crate) fn all_of(area: &str) -> Vec<Case> {
    Case::read(&std::fs::read_to_string(folder("cases").join(area).with_extension("txt")).expect("the file is there"))
}
