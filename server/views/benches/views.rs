//! Plain timings of the views over a million rows.
fn main() {}
