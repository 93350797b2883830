//! `recipes`: questions, and what `record --recipe` records for an answer; those that come with the program, and one's own.

use std::{path::Path, process::ExitCode};

use bathyscope_capture::shown;
use bathyscope_catalog::{
    closest,
    recipes::{Recipe, RecipeTarget, recipe, recipes},
};
use bathyscope_console::{
    control::ControlConnection,
    library::LibraryUser,
    recipes::{OwnRecipe, delete, own_recipe, own_recipes},
};
use bathyscope_store::{LibraryKind, StoreError};
use clap::Args;
use serde::Serialize;

use super::{
    open, print_all,
    record::{OBSERVES, observe},
};
use crate::{Failure, Outcome, config::DataArgs};

const EXAMPLES: &str = "\
Examples:
  bathyscope recipes
  bathyscope recipes disk
  bathyscope record --recipe process-time -P 4711
  bathyscope record --recipe command make -j8
  bathyscope record --syscalls --profile --save slow-build
  bathyscope recipes --delete slow-build

Recipes of your own are kept with the captures: `record --save NAME` saves one, and so does the form for a new capture. All work \
while a console runs, too.";

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
    /// Only the names, one a line, as completion by a shell asks for them; without those of your own where they cannot be read
    #[arg(long, conflicts_with_all = ["name", "json", "delete"])]
    pub names: bool,
    /// Say whether it has scripts or probes; for `record`, which does not read it while it has rights
    #[arg(long, hide = true, requires = "name", conflicts_with = "json")]
    pub observes: bool,
    /// Delete a recipe of your own
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "json"])]
    pub delete: Option<String>,
    /// Where recipes of your own are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// A recipe that was looked for, whoever made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum FoundRecipe {
    /// It comes with the program.
    OfProgram(Recipe),
    /// Somebody has saved it.
    Own(OwnRecipe),
}

impl FoundRecipe {
    /// What it records.
    pub(super) const fn recipe(&self) -> &Recipe {
        match self {
            Self::OfProgram(recipe) => recipe,
            Self::Own(own) => &own.recipe,
        }
    }
}

/// The recipe of this name, with own ones from the database in `dir`.
///
/// # Errors
/// If there is none, or the database cannot be read.
pub(super) async fn found(name: &str, dir: &Path) -> Result<FoundRecipe, Failure> {
    if let Some(recipe) = recipe(name) {
        return Ok(FoundRecipe::OfProgram(recipe.clone()));
    }
    let store = match open::for_reading(dir).await {
        Err(StoreError::NoDirectory { .. }) => return Err(no_recipe(name, &[])),
        opened => opened.map_err(reading)?,
    };
    let own = own_recipe(&store, name, LibraryUser::TERMINAL).await;
    let others = store.kept(None, Some(LibraryKind::Recipe), false).await;
    store.close().await;
    let others: Vec<String> = others.map_err(reading)?.into_iter().map(|one| one.name).collect();
    let own = own.map_err(|error| Failure::because(format!("reading the recipe `{}`", shown(name)), error))?;
    own.map(FoundRecipe::Own).ok_or_else(|| no_recipe(name, &others))
}

fn reading(error: StoreError) -> Failure {
    Failure::because("reading recipes of your own", error)
}

fn no_recipe(name: &str, own: &[String]) -> Failure {
    let names = recipes().iter().map(|recipe| &recipe.name).chain(own);
    let near = closest(name, names.map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
    let failure = Failure::new(format!("there is no recipe `{}`", shown(name)));
    failure.remedy(format!("{near}`bathyscope recipes` lists them."))
}

/// Prints them, or deletes one.
///
/// # Errors
/// If there is none of the name, or the output cannot be written.
pub fn run(args: RecipesArgs) -> Outcome {
    if let Some(name) = &args.delete {
        return remove(name, &args.data);
    }
    if args.names {
        let own = own_of(&args.data).unwrap_or_default();
        return print_all(&names(recipes(), &own));
    }
    if let (Some(name), true) = (&args.name, args.observes) {
        let observes = observe(&one(name, &args.data)?.recipe().sources);
        return print_all(if observes { OBSERVES } else { "" });
    }
    let text = match (&args.name, args.json) {
        (Some(name), is_json) => {
            let one = one(name, &args.data)?;
            if is_json { json(&one)? } else { told(&one) }
        }
        (None, true) => {
            let of_program = recipes().iter().cloned().map(FoundRecipe::OfProgram);
            json(&of_program.chain(own(&args.data).into_iter().map(FoundRecipe::Own)).collect::<Vec<_>>())?
        }
        (None, false) => list(recipes(), &own(&args.data)),
    };
    print_all(&text)
}

/// The recipe of this name. The database is opened only for one that does not come with the program.
fn one(name: &str, data: &DataArgs) -> Result<FoundRecipe, Failure> {
    if let Some(recipe) = recipe(name) {
        return Ok(FoundRecipe::OfProgram(recipe.clone()));
    }
    let all = own_of(data)?;
    let names: Vec<String> = all.iter().map(|one| one.recipe.name.clone()).collect();
    let own = all.into_iter().find(|one| one.recipe.name == name);
    own.map(FoundRecipe::Own).ok_or_else(|| no_recipe(name, &names))
}

/// Those that people have saved; none where there is no directory of captures yet.
fn own_of(data: &DataArgs) -> Result<Vec<OwnRecipe>, Failure> {
    if !data.directory()?.is_dir() {
        return Ok(Vec::new());
    }
    open::reading(data, async |store| own_recipes(&store, LibraryUser::TERMINAL).await)
}

/// The same. Those of the program are listed too where these cannot be read.
#[expect(clippy::print_stderr, reason = "standard output is the list, for whoever goes on with it")]
fn own(data: &DataArgs) -> Vec<OwnRecipe> {
    own_of(data).unwrap_or_else(|failure| {
        eprintln!("{}\n  Recipes of your own are not listed.", failure.report());
        Vec::new()
    })
}

/// Deletes a recipe of one's own, through the console if one runs.
fn remove(name: &str, data: &DataArgs) -> Outcome {
    match ControlConnection::open(&data.directory()?)? {
        Some(console) => console.delete_recipe(name)?,
        None => {
            let deleted = open::writing(data, async |store| Ok(delete(&store, name, LibraryUser::TERMINAL).await))?;
            deleted.map_err(|error| Failure::because("deleting the recipe", error))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn json(recipes: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(recipes);
    Ok(text.map_err(|error| Failure::because("writing recipes as JSON", error))? + "\n")
}

/// One a line. What a line cannot hold as it is, no shell is to complete.
fn names(of_program: &[Recipe], own: &[OwnRecipe]) -> String {
    let all = of_program.iter().chain(own.iter().map(|one| &one.recipe)).map(|recipe| recipe.name.as_str());
    let is_word = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    all.filter(is_word).flat_map(|name| [name, "\n"]).collect()
}

fn list(of_program: &[Recipe], own: &[OwnRecipe]) -> String {
    let names = of_program.iter().chain(own.iter().map(|one| &one.recipe)).map(|recipe| recipe.name.len());
    let width = names.max().unwrap_or(0);
    let line = |recipe: &Recipe| format!("{:width$}  {}", recipe.name, title(recipe));
    let mut text: String = of_program.iter().map(|recipe| line(recipe) + "\n").collect();
    if !own.is_empty() {
        text.push_str("\nSaved here:\n");
    }
    let saved = |one: &OwnRecipe| format!("{}  (by {})\n", line(&one.recipe), shown(&one.owner));
    text.extend(own.iter().map(saved));
    text
}

/// Its question, or what it records.
fn title(recipe: &Recipe) -> String {
    if !recipe.question.is_empty() {
        return shown(&recipe.question);
    }
    recipe.sources.iter().map(|source| shown(&source.method.title())).collect::<Vec<_>>().join(", ")
}

fn told(found: &FoundRecipe) -> String {
    let recipe = found.recipe();
    let Recipe { name, about, needs, cost, sources, .. } = recipe;
    let how = match recipe.of {
        RecipeTarget::Process => "-P PID",
        RecipeTarget::Command => "COMMAND",
        RecipeTarget::System => "",
    };
    let mut text = format!("{}\n", title(recipe));
    match found {
        FoundRecipe::OfProgram(_) => text.push_str(&format!("\n{about}\n\nNeeds: {needs}\nCosts: {cost}\n")),
        FoundRecipe::Own(own) => text.push_str(&format!("\nSaved by: {}\n", shown(&own.owner))),
    }
    text.push_str("Records:\n");
    for source in sources {
        let optional = if source.required { "" } else { ", if that is possible" };
        text.push_str(&format!("  {}: {}{optional}\n", source.id, shown(&source.method.title())));
    }
    text.push_str(format!("\nbathyscope record --recipe {name} {how}").trim_end());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use bathyscope_console::library::TERMINAL;

    use super::*;

    #[test]
    fn a_recipe_is_told_with_how_to_start_it() {
        let data = DataArgs { data: Some("/no/such/folder".into()) };
        let text = told(&one("process-time", &data).unwrap());
        assert!(text.starts_with("Where does the time of this process go?\n"), "{text}");
        assert!(text.contains("  syscalls: system calls, if that is possible\n"), "{text}");
        assert!(text.ends_with("bathyscope record --recipe process-time -P PID\n"), "{text}");
        let all = list(recipes(), &[]);
        assert!(
            all.starts_with("process-time  Where does") && all.contains("\ndisk          Why is the disk slow?\n"),
            "{all}"
        );
        assert!(!all.contains("Saved here"), "{all}");
        let error = one("proces-time", &data).unwrap_err().report();
        assert!(error.contains("there is no recipe `proces-time`") && error.contains("Did you mean `process-time`?"));
    }

    #[test]
    fn own_recipes_stand_apart_and_no_text_of_theirs_moves_the_cursor() {
        let own = |name: &str, question: &str| {
            let recipe =
                Recipe { name: name.to_owned(), question: question.to_owned(), ..recipe("disk").unwrap().clone() };
            OwnRecipe { recipe, owner: TERMINAL.to_owned(), created_unix_ns: 0 }
        };
        let own = [own("a-name-that-is-long", "Why?"), own("b", ""), own("c", "x\u{202e}y")];
        let all = list(recipes(), &own);
        let (of_program, saved) = all.split_once("\nSaved here:\n").unwrap();
        assert_eq!(of_program.lines().count(), recipes().len());
        let saved: Vec<&str> = saved.lines().collect();
        assert_eq!(saved[0], "a-name-that-is-long  Why?  (by terminal)");
        assert!(saved[1].starts_with("b                    ") && saved[1].contains("system calls"), "{}", saved[1]);
        assert!(saved[2].contains("x\\u{202e}y"), "{}", saved[2]);
        let text = told(&FoundRecipe::Own(own[0].clone()));
        assert!(text.starts_with("Why?\n\nSaved by: terminal\nRecords:\n  requests: "), "{text}");
        let written: serde_json::Value =
            serde_json::from_str(&json(&FoundRecipe::Own(own[0].clone())).unwrap()).unwrap();
        assert_eq!((&written["owner"], &written["name"]), (&"terminal".into(), &"a-name-that-is-long".into()));
        let error = no_recipe("a-name-that-is-lang", &["a-name-that-is-long".to_owned()]).report();
        assert!(error.contains("Did you mean `a-name-that-is-long`?"), "{error}");
    }
}
