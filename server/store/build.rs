//! Builds again when a migration is added: the macro that embeds them only sees those that it embedded before.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
