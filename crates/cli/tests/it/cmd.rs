//! The examples of the command line, with their outputs.

#[test]
fn commands() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
}
