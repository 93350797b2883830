//! What the ledger of a capture says was emitted, stored and lost.

use serde_json::Value;

/// How many events the ledger says were lost.
///
/// # Panics
/// If the capture has no ledger.
pub fn lost(capture: &Value) -> u64 {
    losses(capture).iter().filter_map(|loss| loss["count"].as_u64()).sum()
}

fn losses(capture: &Value) -> &[Value] {
    capture["ledger"]["losses"].as_array().unwrap_or_else(|| panic!("a ledger has losses: {capture}"))
}

/// Checks `hits = filtered + emitted` and `emitted = stored + lost` for every stream.
///
/// # Panics
/// If they do not hold.
#[track_caller]
pub fn check(capture: &Value) {
    for (index, stream) in capture["ledger"]["streams"].as_array().expect("streams").iter().enumerate() {
        let of_stream = losses(capture).iter().filter(|loss| loss["stream"] == index);
        let lost: u64 = of_stream.filter_map(|loss| loss["count"].as_u64()).sum();
        let count = |name: &str| stream[name].as_u64().expect("a number");
        assert_eq!(count("emitted"), count("stored") + lost, "{}", capture["ledger"]);
        assert_eq!(count("hits"), count("emitted") + count("filtered"), "{}", capture["ledger"]);
    }
}
