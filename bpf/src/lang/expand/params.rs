//! The words given to a script: positional parameters and options.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::{
        ast::{Expr, ExprKind, Script, UnaryOp},
        limits::{MAX_PARAMETER_BYTES, MAX_PARAMETERS},
        suggest, syntax,
    },
    OptionKind, ScriptOption, walk,
};

/// The words, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) positional: Vec<String>,
    /// Options with their values; `--name` alone has none.
    pub(super) named: Vec<(String, Option<String>)>,
}

impl Params {
    /// Sorts words. After `--` all are positional, and so are `-` and what begins with one `-`.
    ///
    /// # Errors
    /// If there are too many or one is too long.
    pub(super) fn new(words: &[String]) -> Result<Self, Diagnostic> {
        let error = |message: String| Err(Diagnostic::error(Span::default(), message));
        if words.len() > MAX_PARAMETERS {
            return error(format!("a script takes at most {MAX_PARAMETERS} parameters, not {}", words.len()));
        }
        let mut params = Self::default();
        let mut options_end = false;
        for word in words {
            if word.len() > MAX_PARAMETER_BYTES {
                return error(format!("a parameter has at most {MAX_PARAMETER_BYTES} bytes, not {}", word.len()));
            }
            match word.strip_prefix("--") {
                Some("") if !options_end => options_end = true,
                Some(option) if !options_end => {
                    let (name, value) = option.split_once('=').map_or((option, None), |(name, it)| (name, Some(it)));
                    params.named.push((name.to_owned(), value.map(str::to_owned)));
                }
                _ => params.positional.push(word.clone()),
            }
        }
        Ok(params)
    }

    /// Parameter `number`, from 1.
    pub(super) fn positional(&self, number: u32) -> Option<&str> {
        self.positional.get((number as usize).checked_sub(1)?).map(String::as_str)
    }

    /// What is wrong with the options given, if the script takes `known`.
    pub(super) fn unknown(&self, known: &[ScriptOption]) -> Option<Diagnostic> {
        let names = || known.iter().map(|it| it.name.as_str());
        let (name, _) = self.named.iter().find(|(name, _)| names().all(|it| it != name))?;
        let trouble = Diagnostic::error(Span::default(), format!("the script has no option `--{name}`"));
        let listed = || names().map(|it| format!("--{it}")).collect::<Vec<_>>().join(", ");
        Some(trouble.hint(match suggest(name, names()) {
            Some(near) => format!("did you mean `--{near}`?"),
            None if known.is_empty() => "after `--` words are passed on as they are".to_owned(),
            None => format!("it has {}", listed()),
        }))
    }
}

/// A parameter as a number: decimal, hexadecimal or octal, with `-` before it or not.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |it| (true, it));
    let hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    let decimal = digits.starts_with(|it: char| it.is_ascii_digit())
        && digits.bytes().all(|it| it.is_ascii_digit() || it == b'_');
    if !hexadecimal && !decimal || !digits.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_') {
        return None;
    }
    let (value, _) = syntax::number(digits).ok()?;
    if negative && value > i64::MIN.unsigned_abs() {
        return None;
    }
    Some(if negative { -i128::from(value) } else { i128::from(value) })
}

/// A number as an expression.
pub(super) fn integer_expr(value: i128, span: Span) -> Expr {
    let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
    let kind = ExprKind::Integer { value: size, unsigned: value > i128::from(i64::MAX) };
    if value >= 0 {
        return Expr { kind, span };
    }
    Expr { kind: ExprKind::Unary { op: UnaryOp::Negate, of: Box::new(Expr { kind, span }) }, span }
}

/// The number that an expression is, without computing anything.
pub(super) fn literal(expr: &Expr) -> Option<i128> {
    match &expr.kind {
        ExprKind::Integer { value, .. } => Some(i128::from(*value)),
        ExprKind::Unary { op: UnaryOp::Negate, of } => match of.kind {
            ExprKind::Integer { value, .. } => Some(-i128::from(value)),
            _ => None,
        },
        _ => None,
    }
}

/// What a call of `getopt()` asks for.
///
/// # Errors
/// What is wrong with its arguments.
pub(super) fn option(call: &Expr, arguments: &[Expr]) -> Result<ScriptOption, Diagnostic> {
    let form = "write `getopt(\"name\", default)` or `getopt(\"name\", default, \"what it is for\")`";
    let error = |span: Span, message: &str| Err(Diagnostic::error(span, message).hint(form));
    let text = |expr: &Expr| match &expr.kind {
        ExprKind::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let Some((first, rest)) = arguments.split_first() else {
        return error(call.span, "getopt() needs the option's name");
    };
    let name = text(first).filter(|it| !it.is_empty() && !it.starts_with('-') && !it.contains(['=', ' ']));
    let Some(name) = name else {
        return error(first.span, "the first argument of getopt() is a name as a text, without `--`");
    };
    let kind = match rest.first() {
        None => OptionKind::Bool(false),
        Some(default) => match (&default.kind, literal(default)) {
            (_, Some(number)) => OptionKind::Integer(number),
            (ExprKind::Bool(value), _) => OptionKind::Bool(*value),
            (ExprKind::Text(value), _) => OptionKind::Text(value.clone()),
            _ => return error(default.span, "the default of an option is a number, a text, `true` or `false`"),
        },
    };
    let description = match rest.get(1) {
        None => String::new(),
        Some(expr) => match text(expr) {
            Some(text) => text,
            None => return error(expr.span, "the third argument of getopt() describes the option in a text"),
        },
    };
    match rest.get(2) {
        Some(more) => error(more.span, "getopt() takes at most three arguments"),
        None => Ok(ScriptOption { name, kind, description }),
    }
}

/// The value of an option as an expression.
///
/// # Errors
/// If what was given does not fit.
pub(super) fn value(option: &ScriptOption, given: Option<&Option<String>>, span: Span) -> Result<Expr, Diagnostic> {
    let ScriptOption { name, kind, .. } = option;
    let wrong = |needs: &str| {
        let given = given.and_then(|it| it.as_deref()).map_or_else(|| "nothing".to_owned(), |it| format!("`{it}`"));
        Err(Diagnostic::error(span, format!("the option `--{name}` needs {needs}, not {given}")))
    };
    match (kind, given.map(|it| it.as_deref())) {
        (OptionKind::Bool(value), None) => Ok(Expr { kind: ExprKind::Bool(*value), span }),
        (OptionKind::Bool(_), Some(given)) => match given {
            None | Some("true" | "1") => Ok(Expr { kind: ExprKind::Bool(true), span }),
            Some("false" | "0") => Ok(Expr { kind: ExprKind::Bool(false), span }),
            Some(_) => wrong("`true` or `false`"),
        },
        (OptionKind::Integer(value), None) => Ok(integer_expr(*value, span)),
        (OptionKind::Integer(_), Some(given)) => match given.and_then(integer) {
            Some(value) => Ok(integer_expr(value, span)),
            None => wrong("a number"),
        },
        (OptionKind::Text(value), None) => Ok(Expr { kind: ExprKind::Text(value.clone()), span }),
        (OptionKind::Text(_), Some(Some(given))) => Ok(Expr { kind: ExprKind::Text(given.as_bytes().to_vec()), span }),
        (OptionKind::Text(_), Some(None)) => wrong("a text"),
    }
}

/// The options that a script takes, for its `--help`, in the order of the text. Of two of one name the first counts.
pub fn script_options(script: &Script) -> Vec<ScriptOption> {
    let mut options: Vec<ScriptOption> = Vec::new();
    walk::script(script, &mut |part| {
        let walk::VisitedNode::Expr(expr) = part else { return };
        let ExprKind::Call { function, arguments } = &expr.kind else { return };
        if function.text != "getopt" || options.len() >= MAX_PARAMETERS {
            return;
        }
        let resolved: Vec<Expr> = arguments.iter().map(|it| defined(script, it)).collect();
        if let Ok(option) = option(expr, &resolved)
            && options.iter().all(|it| it.name != option.name)
        {
            options.push(option);
        }
    });
    options
}

/// The value of a `#define`'s name.
fn defined(script: &Script, expr: &Expr) -> Expr {
    let ExprKind::Identifier(name) = &expr.kind else { return expr.clone() };
    let define = script.defines.iter().find(|it| it.name.text == *name);
    define.and_then(|it| it.value.as_ref()).unwrap_or(expr).clone()
}
