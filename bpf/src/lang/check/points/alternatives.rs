//! Tracepoints that tell about the same as a kernel function, for kernels on which functions cannot be probed.

use bathyscope_catalog::kernel_names::tracepoint_for;

use crate::lang::host::Host;

/// The tracepoint of this host that is nearest to a kernel function.
pub(super) fn alternative(host: &dyn Host, function: &str, exit: bool) -> Option<String> {
    let all = host.tracepoints();
    let exists = |name: &str| all.binary_search_by(|it| it.as_str().cmp(name)).is_ok();
    if let Some(known) = tracepoint_for(function, exit, exists) {
        return Some(known);
    }
    // Subsystems often name a tracepoint after the function that has it.
    let base = function.trim_start_matches('_');
    let named = |name: &&String| name.split_once(':').is_some_and(|(_, event)| event == base);
    let begun = |name: &&String| {
        let event = name.split_once(':').map_or("", |(_, event)| event);
        base.len() >= 6 && event.starts_with(base) && event.as_bytes().get(base.len()) == Some(&b'_')
    };
    all.iter().find(named).or_else(|| all.iter().find(begun)).cloned()
}
