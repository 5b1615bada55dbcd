//! Writes the page (or with `--text` the text) of a made-up comparison:
//! `cargo run -p smidgen-report --example comparison > page.html`

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    let comparison = if asked("--odd") { common::odd() } else { common::typical() };
    if asked("--text") {
        print!("{}", smidgen_report::comparison_text(&comparison));
    } else {
        print!("{}", smidgen_report::comparison_html(&comparison));
    }
}
