//! See `tests/fuzz/README.md`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: bathyscope_fuzz::pass_caught_panics(), |input: &[u8]| {
    let target = bathyscope_fuzz::target("elf").expect("a target of this name");
    (target.run)(input);
});
