//! `completions`: scripts for shells.

use std::process::ExitCode;

use bathyscope_catalog::recipes::recipes;
use clap::{Args, Command, CommandFactory as _, builder::PossibleValuesParser};
use clap_complete::Shell;

use super::print_all;
use crate::Outcome;

/// What `completions` takes.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Stands in a script where the names of recipes are asked for.
const NAMES: &str = "BATHYSCOPE_RECIPE_NAMES";
/// What lists them, with own ones where whoever types may read them.
const LIST: &str = "bathyscope recipes --names 2>/dev/null";
/// Verbs and their arguments that are names of recipes.
const OF_RECIPES: [(&str, &str); 3] = [("record", "recipe"), ("recipes", "name"), ("recipes", "delete")];

/// Prints the script.
///
/// # Errors
/// If the output cannot be written.
pub fn run(args: CompletionsArgs) -> Outcome {
    print_all(&script(args.shell))?;
    Ok(ExitCode::SUCCESS)
}

/// The script, which asks for the names of recipes when they are completed; a shell that cannot has those of the program.
fn script(shell: Shell) -> String {
    let asks = matches!(shell, Shell::Bash | Shell::Zsh | Shell::Fish);
    let names: Vec<&'static str> =
        if asks { vec![NAMES] } else { recipes().iter().map(|recipe| recipe.name.as_str()).collect() };
    let of = |command: Command, (verb, argument): &(&'static str, &'static str)| {
        let values = PossibleValuesParser::new(names.clone());
        command.mut_subcommand(verb, |verb| verb.mut_arg(argument, |argument| argument.value_parser(values)))
    };
    let mut command = OF_RECIPES.iter().fold(super::Cli::command(), of);
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut command, "bathyscope", &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        Shell::Bash => text.replace(NAMES, &format!("$({LIST})")),
        // In parentheses a list would be words as they stand.
        Shell::Zsh => {
            let function = "_bathyscope_recipe_names";
            let body = format!("{function}() {{ local -a names; names=(${{(f)\"$({LIST})\"}}); compadd -a names }}");
            let text = text.replace(&format!("({NAMES})"), function);
            text.replacen("_bathyscope() {", &format!("{body}\n\n_bathyscope() {{"), 1)
        }
        Shell::Fish => text.replace(&format!("{NAMES}\\t''"), &format!("({LIST})")),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_recipes_are_asked_for_when_they_are_completed() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(text.contains(LIST) && !text.contains(NAMES), "{shell}");
        }
        let zsh = script(Shell::Zsh);
        assert_eq!(zsh.matches("_bathyscope_recipe_names").count(), 4, "it is written once, for three arguments");
    }
}
