//! Switching dynamic events of other agents off, for whoever sits at a terminal as root.
//!
//! An event's group and the instance in which it is enabled both name the process that made them, so that nothing is touched
//! that is not of this program, and an event only where its own maker enabled it.

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::area::remedy_of;
use crate::{
    error::{failed, refused},
    os::{owner::Owner, tracefs::Tracefs},
};

/// Whether this can be the name of an event.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Switches `group`/`name` off; returns in how many instances it was on.
///
/// # Errors
/// If that is not `allowed`, or the event is not of a living agent of this program.
pub(crate) fn detach_others(group: &str, name: &str, allowed: bool) -> Result<u32, AgentError> {
    let doing = format!("detaching {}:{}", visible(group.as_bytes()), visible(name.as_bytes()));
    if !allowed {
        let remedy = "End that capture with Ctrl-C in its terminal, or detach the probe with `bathyscope probe --del`, \
            which takes root's rights.";
        let why = "it belongs to a capture that another process records";
        return Err(failed(AgentErrorKind::Denied, doing, why, remedy));
    }
    let owner = Owner::of_name(group, '_').filter(|owner| is_name(name) && !owner.is_dead());
    let no_owner = || {
        let why = "it is not of a capture that is recorded now";
        failed(AgentErrorKind::Invalid, doing.clone(), why, "`bathyscope probe --list` shows whose it is.")
    };
    let owner = owner.ok_or_else(no_owner)?;
    let tracefs = Tracefs::find()?;
    let own = tracefs.instances().into_iter().filter(|name| Owner::of_name(name, '-').as_ref() == Some(&owner));
    // The machine's own instance too, where a graph on an older kernel is drawn in.
    let places = own.map(|name| format!("instances/{name}/")).chain([String::new()]);
    let mut count = 0;
    for place in places {
        let file = format!("{place}events/{group}/{name}/enable");
        // The kernel shows `1*` where it is on in a special way.
        if tracefs.read(&file).is_ok_and(|text| text.trim() != "0") {
            tracefs.write(&file, "0").map_err(|error| refused(doing.clone(), &error, remedy_of(&error)))?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_a_living_agent_is_touched() {
        let own = Owner::this().unwrap().name('_');
        assert_eq!(detach_others(&own, "vfs_read", false).unwrap_err().kind, AgentErrorKind::Denied);
        for (group, name) in
            [("probe", "vfs_read"), (&*own, "../../enable"), ("bathyscope_1_2_3_4_5", "x"), (&*own, "")]
        {
            assert_eq!(detach_others(group, name, true).unwrap_err().kind, AgentErrorKind::Invalid, "{group} {name}");
        }
    }
}
