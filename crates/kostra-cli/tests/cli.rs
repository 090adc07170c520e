//! Every subcommand as a person sees it: text, JSON and errors, in `cmd/*.trycmd`.
//!
//! `TRYCMD=overwrite cargo test -p kostra-cli --test cli` writes what the program says now; put `[..]` back in place of
//! times before committing.

#[test]
fn commands_say_what_they_said() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
