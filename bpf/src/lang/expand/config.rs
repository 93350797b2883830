//! Settings: the `config` block, and variables of the environment, which win over it.

use bathyscope_plan::{Config, Diagnostic, MissingProbes, Span, StackMode};

use super::super::{
    ast::{Expr, ExprKind, Setting},
    suggest,
};

/// How a setting's value is read and where it goes.
enum SettingKind {
    /// A number in a range, and what it is called in a message.
    Number(u64, u64, fn(&mut Config, u64)),
    /// Yes or no.
    Bool(fn(&mut Config, bool)),
    /// A text of at most so many bytes.
    Text(usize, fn(&mut Config, &str)),
    /// One of some words.
    Word(&'static [&'static str], fn(&mut Config, &str)),
    /// Nothing here depends on it.
    Ignored,
}

fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Bytes of a page as `perf_rb_pages` counts them.
const PAGE_BYTES: u64 = 4096;

/// Every setting.
const SETTINGS: &[(&str, SettingKind)] = &[
    ("max_strlen", SettingKind::Number(1, 16_384, |config, value| config.max_strlen = small(value))),
    ("max_map_keys", SettingKind::Number(1, 1 << 24, |config, value| config.max_map_keys = small(value))),
    ("max_probes", SettingKind::Number(1, 16_384, |config, value| config.max_probes = small(value))),
    ("max_bpf_progs", SettingKind::Number(1, 16_384, |config, value| config.max_bpf_programs = small(value))),
    ("max_cat_bytes", SettingKind::Number(1, 1 << 24, |config, value| config.max_cat_bytes = value)),
    (
        "perf_rb_pages",
        SettingKind::Number(1, 16_384, |config, value| {
            config.ring_bytes = small((value * PAGE_BYTES).next_power_of_two())
        }),
    ),
    ("on_stack_limit", SettingKind::Number(0, 256, |config, value| config.on_stack_limit = small(value))),
    ("str_trunc_trailer", SettingKind::Text(64, |config, value| value.clone_into(&mut config.str_trunc_trailer))),
    ("license", SettingKind::Text(64, |config, value| value.clone_into(&mut config.license))),
    ("print_maps_on_exit", SettingKind::Bool(|config, value| config.print_maps_on_exit = value)),
    ("cpp_demangle", SettingKind::Bool(|config, value| config.cpp_demangle = value)),
    ("lazy_symbolication", SettingKind::Bool(|config, value| config.lazy_symbolication = value)),
    (
        "stack_mode",
        SettingKind::Word(&["bpftrace", "perf", "raw", "build_id"], |config, value| {
            config.stack_mode = match value {
                "perf" => StackMode::Perf,
                "raw" => StackMode::Raw,
                "build_id" => StackMode::BuildId,
                _ => StackMode::Bpftrace,
            };
        }),
    ),
    (
        "missing_probes",
        SettingKind::Word(&["error", "warn", "ignore"], |config, value| {
            config.missing_probes = match value {
                "warn" => MissingProbes::Warn,
                "ignore" => MissingProbes::Ignore,
                _ => MissingProbes::Error,
            };
        }),
    ),
    ("cache_user_symbols", SettingKind::Ignored),
    ("debug_output", SettingKind::Ignored),
    ("log_size", SettingKind::Ignored),
    ("max_ast_nodes", SettingKind::Ignored),
    ("max_type_res_iterations", SettingKind::Ignored),
    ("show_debug_info", SettingKind::Ignored),
    ("symbol_source", SettingKind::Ignored),
    ("unstable_dw_ustack", SettingKind::Ignored),
    ("unstable_import", SettingKind::Ignored),
    ("unstable_import_statement", SettingKind::Ignored),
    ("unstable_macro", SettingKind::Ignored),
    ("unstable_map_decl", SettingKind::Ignored),
    ("unstable_tseries", SettingKind::Ignored),
    ("use_blazesym", SettingKind::Ignored),
    ("verify_llvm_ir", SettingKind::Ignored),
];

/// Variables of bpftrace's environment that are no settings of a script.
const NO_SETTINGS: &[&str] = &["btf", "color", "kernel_build", "kernel_source", "vmlinux", "no_user_symbols"];

/// A setting's present name: those of the environment have a prefix, and some had other names.
fn present_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let name = lower.strip_prefix("bpftrace_").unwrap_or(&lower);
    match name {
        "strlen" => "max_strlen",
        "map_keys_max" => "max_map_keys",
        "cat_bytes_max" => "max_cat_bytes",
        other => other,
    }
    .to_owned()
}

fn kind(name: &str) -> Option<&'static SettingKind> {
    SETTINGS.iter().find(|(it, _)| *it == name).map(|(_, kind)| kind)
}

fn unknown(name: &str) -> String {
    let names = || SETTINGS.iter().filter(|(_, kind)| !matches!(kind, SettingKind::Ignored)).map(|(name, _)| *name);
    suggest(name, SETTINGS.iter().map(|(name, _)| *name)).map_or_else(
        || format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    )
}

impl SettingKind {
    /// Sets what `value` says.
    ///
    /// # Errors
    /// What is expected instead.
    fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        match self {
            Self::Number(least, most, set) => {
                let number = super::params::integer(value).and_then(|it| u64::try_from(it).ok());
                match number.filter(|it| (least..=most).contains(&it)) {
                    Some(number) => set(config, number),
                    None => return Err(format!("a number from {least} to {most}")),
                }
            }
            Self::Bool(set) => match value {
                "1" | "true" => set(config, true),
                "0" | "false" => set(config, false),
                _ => return Err("`true` or `false`".to_owned()),
            },
            Self::Text(most, set) => {
                if value.len() > *most || value.contains('\0') {
                    return Err(format!("a text of at most {most} bytes"));
                }
                set(config, value);
            }
            Self::Word(words, set) => {
                if !words.contains(&value) {
                    return Err(format!("one of {}", words.join(", ")));
                }
                set(config, value);
            }
            Self::Ignored => {}
        }
        Ok(())
    }
}

/// The value of a setting as it is written in the environment.
fn written(value: &Expr) -> Option<String> {
    match &value.kind {
        ExprKind::Text(text) => String::from_utf8(text.clone()).ok(),
        ExprKind::Bool(value) => Some(value.to_string()),
        ExprKind::Identifier(word) => Some(word.clone()),
        _ => super::params::literal(value).map(|it| it.to_string()),
    }
}

/// Reads the `config` block, whose values are expanded.
pub(super) fn from_script(
    settings: &[Setting],
    errors: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Config {
    let mut config = Config::default();
    let mut seen: Vec<String> = Vec::new();
    for setting in settings {
        let name = present_name(&setting.name.text);
        let Some(kind) = kind(&name) else {
            let message = format!("there is no setting `{}`", setting.name.text);
            errors.push(Diagnostic::error(setting.name.span, message).hint(unknown(&name)));
            continue;
        };
        if matches!(kind, SettingKind::Ignored) {
            let message = format!("the setting `{name}` has no effect here");
            warnings.push(Diagnostic::warning(setting.name.span, message));
        }
        if seen.contains(&name) {
            let message = format!("`{name}` is set twice; the last value counts");
            warnings.push(Diagnostic::warning(setting.name.span, message));
        }
        if let Err(expected) =
            written(&setting.value).map_or_else(|| Err(kind.expected()), |it| kind.set(&mut config, &it))
        {
            let message = format!("`{name}` must be {expected}");
            errors.push(Diagnostic::error(setting.value.span, message));
        }
        seen.push(name);
    }
    config
}

impl SettingKind {
    fn expected(&self) -> String {
        self.set(&mut Config::default(), "\0").err().unwrap_or_else(|| "a number or a word".to_owned())
    }
}

/// Takes over what the environment says; variables that have nothing to do with it are ignored.
pub(super) fn from_environment(
    environment: &[(String, String)],
    config: &mut Config,
    errors: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) {
    for (variable, value) in environment.iter().filter(|(name, _)| name.starts_with("BPFTRACE_")) {
        let name = present_name(variable);
        if name == "no_cpp_demangle" {
            config.cpp_demangle = value == "0";
            continue;
        }
        if NO_SETTINGS.contains(&name.as_str()) {
            continue;
        }
        let Some(kind) = kind(&name) else {
            let message = format!("the variable {variable} of the environment is no setting");
            warnings.push(Diagnostic::warning(Span::default(), message).hint(unknown(&name)));
            continue;
        };
        if let Err(expected) = kind.set(config, value) {
            let message = format!("the variable {variable} of the environment is `{value}`, and must be {expected}");
            errors.push(Diagnostic::error(Span::default(), message));
        }
    }
}
