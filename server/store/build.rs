//! Builds again when a migration is added: the macro that embeds them only sees those that it embedded before.

fn main() {
    #[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
    {
        println!("cargo:rerun-if-changed=../../migrations");
    }
}
