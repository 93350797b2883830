//! `recipes`: questions, and what `record --recipe` records for an answer.

use std::{io::Write as _, process::ExitCode};

use bathyscope_catalog::{
    closest,
    recipes::{Recipe, RecipeTarget, recipe, recipes},
};
use clap::Args;

use crate::{Failure, Outcome};

const EXAMPLES: &str = "\
Examples:
  bathyscope recipes
  bathyscope recipes disk
  bathyscope record --recipe process-time -P 4711
  bathyscope record --recipe command make -j8";

/// What `recipes` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecipesArgs {
    /// The one that is told whole
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// As JSON, with the sources as a capture's spec has them
    #[arg(long)]
    pub json: bool,
}

/// The recipe of this name.
///
/// # Errors
/// If there is none.
pub(super) fn named(name: &str) -> Result<&'static Recipe, Failure> {
    recipe(name).ok_or_else(|| {
        let near = closest(name, recipes().iter().map(|recipe| recipe.name.as_str()));
        let near = near.map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
        let failure = Failure::new(format!("there is no recipe `{name}`"));
        failure.remedy(format!("{near}`bathyscope recipes` lists them."))
    })
}

/// Prints them.
///
/// # Errors
/// If there is none of the name, or the output cannot be written.
pub fn run(args: RecipesArgs) -> Outcome {
    let text = match (args.name.as_deref().map(named).transpose()?, args.json) {
        (Some(one), true) => json(one)?,
        (None, true) => json(recipes())?,
        (Some(one), false) => told(one),
        (None, false) => list(recipes()),
    };
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::because("printing recipes", error))?;
    Ok(ExitCode::SUCCESS)
}

fn json(recipes: &(impl serde::Serialize + ?Sized)) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(recipes);
    Ok(text.map_err(|error| Failure::because("writing recipes as JSON", error))? + "\n")
}

fn list(recipes: &[Recipe]) -> String {
    let width = recipes.iter().map(|recipe| recipe.name.len()).max().unwrap_or(0);
    recipes.iter().map(|recipe| format!("{:width$}  {}\n", recipe.name, recipe.question)).collect()
}

fn told(recipe: &Recipe) -> String {
    let Recipe { name, question, about, needs, cost, sources, .. } = recipe;
    let how = match recipe.of {
        RecipeTarget::Process => "-P PID",
        RecipeTarget::Command => "COMMAND",
        RecipeTarget::System => "",
    };
    let mut text = format!("{question}\n\n{about}\n\nNeeds: {needs}\nCosts: {cost}\nRecords:\n");
    for source in sources {
        let optional = if source.required { "" } else { ", if that is possible" };
        text.push_str(&format!("  {}: {}{optional}\n", source.id, source.method.title()));
    }
    text.push_str(format!("\nbathyscope record --recipe {name} {how}").trim_end());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_told_with_how_to_start_it() {
        let text = told(named("process-time").unwrap());
        assert!(text.starts_with("Where does the time of this process go?\n"), "{text}");
        assert!(text.contains("  syscalls: system calls, if that is possible\n"), "{text}");
        assert!(text.ends_with("bathyscope record --recipe process-time -P PID\n"), "{text}");
        let all = list(recipes());
        assert!(
            all.starts_with("process-time  Where does") && all.contains("\ndisk          Why is the disk slow?\n"),
            "{all}"
        );
        let error = named("proces-time").unwrap_err().report();
        assert!(error.contains("there is no recipe `proces-time`") && error.contains("Did you mean `process-time`?"));
    }
}
