//! See `tests/fuzz/README.md`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let target = bathyscope_fuzz::target("builder").expect("a target of this name");
    (target.run)(input);
});
