//! Captures as runs of a series: their key numbers, computed once in the background, what later runs are worth beside a baseline, and
//! marked moments.
//!
//! What a series is, is decided by [`bathyscope_capture::SeriesId`]; what is measured, by [`bathyscope_views::key_numbers`]. Here it is
//! kept up to date and told.

mod answer;
mod marks;
mod task;
mod terminal;

use bathyscope_capture::CaptureSpec;
use bathyscope_catalog::recipes::{RecipeKey, recipes};
use bathyscope_views::KeyWish;

pub use answer::{BaselineVerdict, RunItem, RunNumber, SeriesItem, SeriesKey, SeriesPage, series_page};
pub use marks::{AskedMark, MarkError, MarkItem, checked_mark};
pub use task::{RULE, SeriesTask, compute_pending};
pub use terminal::{DoneSeries, SeriesError, TerminalSeries, series_at_terminal};

/// What the recipe that a spec is of wishes to be followed; nothing if it is of none.
pub fn recipe_keys(spec: &CaptureSpec) -> &'static [RecipeKey] {
    let recipe = recipes().iter().find(|recipe| recipe.sources == spec.sources);
    recipe.map_or(&[], |recipe| &recipe.key_numbers)
}

/// The same as what is measured.
pub fn wishes(spec: &CaptureSpec) -> Vec<KeyWish> {
    recipe_keys(spec).iter().filter_map(|wish| KeyWish::parse(&wish.key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_names_numbers_that_are_some() {
        for recipe in recipes() {
            assert!(!recipe.key_numbers.is_empty(), "{}", recipe.name);
            for wish in &recipe.key_numbers {
                assert!(KeyWish::parse(&wish.key).is_some(), "{}: {}", recipe.name, wish.key);
            }
            let spec = recipe.spec(recipe.of.example());
            assert_eq!(recipe_keys(&spec), recipe.key_numbers);
        }
        let mut other = recipes().first().map(|recipe| recipe.spec(recipe.of.example())).unwrap_or_else(|| panic!());
        other.sources.truncate(1);
        assert!(recipe_keys(&other).is_empty(), "it is of no recipe");
    }
}
