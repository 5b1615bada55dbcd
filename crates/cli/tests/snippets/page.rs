//! Fenced blocks of a page, and the page with other outputs.

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Program,
    Data,
    Commands,
    Output,
    Python,
}

/// A block between two fences.
pub struct Block {
    /// `page:line` of the opening fence, for messages.
    pub place: String,
    /// The index of the first line of its text.
    pub line: usize,
    pub kind: Kind,
    pub file: Option<String>,
    /// It goes on with the block of its kind before it.
    pub continues: bool,
    /// Numbers may differ somewhat.
    pub about: bool,
    /// Why it is not run.
    pub skip: Option<String>,
    pub text: String,
}

/// All fenced blocks of a page. A fence that says nothing that we know is an error.
pub fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                open = true;
                let place = format!("{page}:{}", index + 1);
                found.push(opened(info.trim(), place, index + 1));
            }
            None if open => {
                let block = found.last_mut().expect("a block is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "{page}: the last block is not closed");
    found
}

/// The block that a fence with these words begins.
fn opened(info: &str, place: String, line: usize) -> Block {
    let (words, skip) = match info.split_once("skip=") {
        Some((words, why)) => {
            let why = why.trim().trim_matches('"').to_owned();
            assert!(!why.is_empty(), "{place}: skip=\"...\" says why");
            (words, Some(why))
        }
        None => (info, None),
    };
    let mut words = words.split_whitespace();
    let kind = match words.next() {
        Some("smidgen") => Kind::Program,
        Some("csv") => Kind::Data,
        Some("sh") => Kind::Commands,
        Some("text") => Kind::Output,
        Some("python") => Kind::Python,
        other => panic!("{place}: what is a block of {other:?}? See the head of tests/snippets"),
    };
    let mut block = Block {
        place,
        line,
        kind,
        file: None,
        continues: false,
        about: false,
        skip,
        text: String::new(),
    };
    for word in words {
        match word {
            "continues" => block.continues = true,
            "about" => block.about = true,
            file if file.contains('.') => block.file = Some(file.to_owned()),
            other => panic!("{}: the fence says `{other}`, which means nothing", block.place),
        }
    }
    assert!(
        kind != Kind::Data || block.file.is_some() || block.skip.is_some(),
        "{}: data need the name of a file",
        block.place
    );
    block
}

/// The page with what was printed in its output blocks: as many lines as there are, or those up to
/// the first empty line in a block that has none.
pub fn with_outputs(text: &str, blocks: &[Block], printed: &[String]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (block, printed) in blocks.iter().zip(printed).rev() {
        if block.kind != Kind::Output || block.skip.is_some() {
            continue;
        }
        let old = block.text.lines().count();
        let new = printed.lines().map(|line| line.trim_end().to_owned());
        let new: Vec<String> = match old {
            0 => new.take_while(|line| !line.is_empty()).collect(),
            _ => new.take(old).collect(),
        };
        lines.splice(block.line..block.line + old, new);
    }
    lines.join("\n") + "\n"
}
