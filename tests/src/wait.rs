//! Waiting for a state instead of for a time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How long a state may take to come before a test fails. Long, because an emulated kernel is 15 times slower; it is
/// never waited out in a test that passes.
pub const PATIENCE: Duration = Duration::from_secs(180);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Looks again and again until `look` finds what it looks for.
///
/// # Panics
/// If it has not come after [`PATIENCE`]; `what` says what was waited for.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {} s for {what}", PATIENCE.as_secs());
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Waits until so much time of the machine has passed. For faults only, which last for a time: what is stopped cannot be asked
/// meanwhile.
pub fn pass(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        thread::sleep(BETWEEN_LOOKS.min(time));
    }
}
