//! Counting on the kernel that runs the tests.

use super::*;
use crate::CommandRights;
use bathyscope_capture::Target;

fn wish(groups: &[&[&str]]) -> CountSpec {
    let groups = groups.iter().map(|group| group.iter().map(|event| (*event).to_owned()).collect()).collect();
    CountSpec { groups, ..CountSpec::default() }
}

#[test]
fn what_does_not_exist_is_told() {
    let make = |wish: &CountSpec| {
        CountEngine::make(wish, &ResolvedTarget::System, 1 << 16, ScriptRights::Off).map(|_made| ()).unwrap_err()
    };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    assert_eq!(make(&wish(&[&["sched:no_such_event"]])).kind, AgentErrorKind::NotFound);
    assert_eq!(make(&wish(&[&["no_such_pmu/event=1/"]])).kind, AgentErrorKind::Unsupported);
    let error = make(&CountSpec { cpus: vec![7000], ..wish(&[&["cs"]]) });
    assert_eq!((error.kind, error.why.as_str()), (AgentErrorKind::NotFound, "CPU 7000 is not online"));
    let error = make(&CountSpec { cgroup: Some("../../etc".to_owned()), ..wish(&[&["cs"]]) });
    assert_eq!(error.kind, AgentErrorKind::NotFound);
    let target = ResolvedTarget::take(&Target::System, &CommandRights::Off).unwrap();
    assert!(CountEngine::make(&wish(&[&["task-clock", "cs"]]), &target, 1 << 16, ScriptRights::Off).is_ok());
}
