//! (being written)
use smidgen::{Session, Settings};
fn main() {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let path = std::env::args().nth(1).unwrap();
    let program = match session.parse_file(path.as_ref()) { Ok(p) => p, Err(d) => { println!("{d:#?}"); return } };
    for directive in &program {
        match session.execute(directive) {
            Ok(outcomes) => for o in outcomes { println!("{o:?}") },
            Err(d) => { println!("{d:#?}"); return }
        }
    }
}
