//! Counting on the kernel that runs the tests.

use bathyscope_protocol::{WireCountPer, WireTarget};

use super::*;
use crate::CommandRights;

fn wish(groups: &[&[&str]]) -> WireCount {
    WireCount {
        groups: groups.iter().map(|group| group.iter().map(|event| (*event).to_owned()).collect()).collect(),
        interval_ms: 1000,
        per: WireCountPer::Total,
        cpus: Vec::new(),
        everywhere: false,
        cgroup: None,
        dynamic: Vec::new(),
        delay_ms: None,
    }
}

#[test]
fn what_does_not_exist_is_told() {
    let make = |wish: &WireCount| {
        CountCapture::make(wish, Target::System, 1 << 16, ScriptRights::Off).map(|_made| ()).unwrap_err()
    };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    assert_eq!(make(&wish(&[&["sched:no_such_event"]])).kind, AgentErrorKind::NotFound);
    assert_eq!(make(&wish(&[&["no_such_pmu/event=1/"]])).kind, AgentErrorKind::Unsupported);
    let error = make(&WireCount { cpus: vec![7000], ..wish(&[&["cs"]]) });
    assert_eq!((error.kind, error.why.as_str()), (AgentErrorKind::NotFound, "CPU 7000 is not online"));
    let error = make(&WireCount { cgroup: Some("../../etc".to_owned()), ..wish(&[&["cs"]]) });
    assert_eq!(error.kind, AgentErrorKind::NotFound);
    let target = Target::take(&WireTarget::System, &CommandRights::Off).unwrap();
    assert!(CountCapture::make(&wish(&[&["task-clock", "cs"]]), target, 1 << 16, ScriptRights::Off).is_ok());
}
