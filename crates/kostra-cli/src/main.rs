//! The kostra program.
fn main() {}
