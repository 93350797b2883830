//! Several probes in one script.

use crate::form::{FormAction, ProbeForm};

/// The forms of one script without what has no meaning in them, as [`ProbeForm::normal`]. Maps in which places keep what
/// the place that ends it needs have a name each.
pub(crate) fn normal_forms(forms: Vec<ProbeForm>) -> Vec<ProbeForm> {
    let mut taken: Vec<String> = forms.iter().flat_map(|form| kept_maps(form).chain(own_map(form))).cloned().collect();
    forms.into_iter().map(|form| form.normal_among(&mut taken)).collect()
}

/// The names of the maps that a form keeps something in from one place to the other, as far as they are chosen.
pub(crate) fn kept_maps(form: &ProbeForm) -> impl Iterator<Item = &String> {
    let until = form.until.iter();
    until.flat_map(|until| std::iter::once(&until.started).chain(form.values.iter().map(|value| &value.name)))
}

/// The name of the map that a form counts in.
pub(crate) fn own_map(form: &ProbeForm) -> Option<&String> {
    match &form.action {
        FormAction::Aggregate { map, .. } | FormAction::LinearHistogram { map, .. } => Some(map),
        FormAction::Record | FormAction::Print { .. } => None,
    }
}
