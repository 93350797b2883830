//! Recipes: questions that people have, and what to record for an answer.
//!
//! Each is a file of `data/recipes`, called as the recipe is, that a person can read: the question, what the capture shows, what it
//! needs and costs, whose events it is usually of, which view it opens in, and its sources and limits as a capture's spec has them.
//! To add one is to add a file; a test reads them all. People save their own elsewhere ([`check_own_name`], [`Recipe::to_own_text`]).

mod own;

use std::sync::LazyLock;

use bathyscope_capture::{CaptureSpec, Limits, SourceSpec, Target};
use rust_embed::RustEmbed;
use serde::{Deserialize, Serialize};

pub use own::{MAX_RECIPE_BYTES, MAX_RECIPE_NAME_BYTES, OwnRecipeError, check_own_name};

/// The files.
#[derive(RustEmbed)]
#[folder = "data/recipes"]
struct Files;

/// Whose events a recipe is usually of. Where there is none of these, the capture is of the whole system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipeTarget {
    /// A process that is there already.
    Process,
    /// A command that is started for it.
    Command,
    /// Everything.
    System,
}

impl RecipeTarget {
    /// A target of this kind, with which sources and limits can be checked before anybody has chosen one.
    pub fn example(self) -> Target {
        match self {
            Self::Process => Target::Process { pid: 1, children: true },
            Self::Command => Target::Command { argv: vec!["true".to_owned()], user: None, children: true },
            Self::System => Target::System,
        }
    }
}

/// The view that the capture opens in, as addresses name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipeView {
    /// The table of rows.
    Events,
    /// The timeline.
    Timeline,
    /// The flame graph.
    Flame,
    /// Counts over time.
    Counts,
}

/// What a file has. One of people's own may say less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it is called: the file's name without its end.
    #[serde(default)]
    pub name: String,
    /// Where it stands in lists: the smaller, the earlier.
    #[serde(default)]
    pub order: u32,
    /// The question that it answers, one sentence; it becomes the capture's name.
    #[serde(default)]
    pub question: String,
    /// What the capture shows and how to read it.
    #[serde(default)]
    pub about: String,
    /// What it needs of the host.
    #[serde(default)]
    pub needs: String,
    /// What it usually costs.
    #[serde(default)]
    pub cost: String,
    /// Whose events.
    pub of: RecipeTarget,
    /// Where the capture opens; none for what is usual for its sources.
    #[serde(default)]
    pub opens: Option<RecipeView>,
    /// When it ends, and what it may cost.
    pub limits: Limits,
    /// What is recorded.
    pub sources: Vec<SourceSpec>,
    /// Which numbers of it are followed over its runs before others, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_numbers: Vec<RecipeKey>,
}

/// A number that is followed over runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeKey {
    /// Which: `rate@STREAM`, `p99:COLUMN@STREAM` …, as `docs/compare.md` has them.
    pub key: String,
    /// Which way is better; none where neither is, or what is usual for such a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<GoodWay>,
}

/// Which way a number gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoodWay {
    /// The less, the better.
    Less,
    /// The more, the better.
    More,
}

impl Recipe {
    /// The capture that it stands for.
    pub fn spec(&self, target: Target) -> CaptureSpec {
        let (sources, limits) = (self.sources.clone(), self.limits.clone());
        CaptureSpec { name: self.question.clone(), sources, target, limits }
    }
}

/// Reads the file of a recipe.
///
/// # Errors
/// What is wrong with it.
fn read(name: &str, bytes: &[u8]) -> Result<Recipe, serde_json::Error> {
    Ok(Recipe { name: name.to_owned(), ..serde_json::from_slice(bytes)? })
}

/// All recipes, in the order of lists.
pub fn recipes() -> &'static [Recipe] {
    static RECIPES: LazyLock<Vec<Recipe>> = LazyLock::new(|| {
        let recipe = |file: std::borrow::Cow<'static, str>| {
            let bytes = Files::get(&file)?.data;
            // A test reads all of them.
            read(file.strip_suffix(".json")?, &bytes).ok()
        };
        let mut all: Vec<Recipe> = Files::iter().filter_map(recipe).collect();
        all.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        all
    });
    &RECIPES
}

/// The recipe of this name.
pub fn recipe(name: &str) -> Option<&'static Recipe> {
    recipes().iter().find(|recipe| recipe.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_recipe_that_can_be_asked_for() {
        let mut names: Vec<String> = Vec::new();
        for file in Files::iter() {
            let name = file.strip_suffix(".json").unwrap();
            let recipe = read(name, &Files::get(&file).unwrap().data).unwrap_or_else(|error| panic!("{file}: {error}"));
            recipe.spec(recipe.of.example()).validate().unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(recipe.question.ends_with('?') && recipe.about.ends_with('.'), "{file}");
            assert!(!recipe.needs.is_empty() && !recipe.cost.is_empty() && recipe.opens.is_some(), "{file}");
            assert!(recipe.order > 0, "{file}");
            assert!(recipe.sources.iter().any(|source| source.required), "{file}: nothing is certain");
            let ends = recipe.limits.duration_ms.is_some() || recipe.of == RecipeTarget::Command;
            assert!(ends, "{file}: a recipe ends by itself");
            names.push(name.to_owned());
        }
        names.sort();
        let mut listed: Vec<String> = recipes().iter().map(|recipe| recipe.name.clone()).collect();
        listed.sort();
        assert_eq!(names, listed);
        for asked in ["process-time", "machine", "command", "waiting", "disk", "network", "memory"] {
            assert!(recipe(asked).is_some(), "{asked}");
        }
    }

    #[test]
    fn what_is_not_known_of_a_recipe_is_refused() {
        let text = r#"{"order":1,"question":"?","about":".","needs":"","cost":"","of":"system","opens":"flame","limits":{},"sources":[],"colour":1}"#;
        assert!(read("x", text.as_bytes()).unwrap_err().to_string().contains("unknown field `colour`"));
    }
}
