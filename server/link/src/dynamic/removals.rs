//! Lines that remove probes which the same text makes.
//!
//! What a capture makes goes with it, so a text that makes a probe, reads it and removes it asks for what a capture does.
//! One that removes a probe before anything used it, or to make another of the same name, does not want it.

use bathyscope_catalog::dynamic::{Passed, Removal};

use super::{Resolved, made_name};
use crate::script::matches;

const GOES: &str = "what is made here goes with its capture";
const NOT_OURS: &str = "no probe of this name is made above, and those of others are not removed here: `bathyscope probe \
                        --del` detaches those of running captures";

/// Leaves out the probes that were removed. `probes` has how many definitions stood before each.
pub(super) fn apply(removals: &[Removal], probes: &mut Vec<(usize, Resolved)>, skipped: &mut Vec<Passed>) {
    for removal in removals {
        let named = |(index, probe): &(usize, Resolved)| {
            let group = probe.definition.group.as_deref().unwrap_or(probe.usual_group());
            let of_group = removal.group.as_deref().is_none_or(|wanted| matches(wanted, group));
            *index < removal.after && of_group && matches(&removal.event, &name(probe))
        };
        let again = |probe: &Resolved| {
            let later = |(index, other): &(usize, Resolved)| *index >= removal.after && name(other) == name(probe);
            probes.iter().any(later)
        };
        let (mut known, mut gone) = (false, Vec::new());
        for (index, probe) in probes.iter().filter(|one| named(one)) {
            known = true;
            if *index >= removal.used || again(probe) {
                gone.push((*index, probe.typed.clone()));
            }
        }
        probes.retain(|(index, _)| !gone.iter().any(|(removed, _)| removed == index));
        let why = if known { GOES } else { NOT_OURS };
        skipped.push(Passed { text: removal.text.clone(), why: why.to_owned() });
        skipped.extend(
            gone.into_iter()
                .map(|(_, text)| Passed { text, why: format!("it is removed again below, by `{}`", removal.text) }),
        );
    }
}

fn name(probe: &Resolved) -> String {
    probe.definition.event.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| made_name(&probe.definition.place))
}
