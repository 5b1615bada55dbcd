//! One table for two places: aligned text for a terminal, and HTML.

use crate::Verdict;
use crate::svg::{escape, without_middle};

/// The widest line of text.
pub const WIDEST: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    /// Numbers stand to the right.
    Number(String),
    Verdict(Verdict),
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Number(text) => words(text).join(" "),

            Cell::Verdict(verdict) => verdict.word().to_owned(),
        }
    }

    fn html(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Number(text) => escape(text),
            Cell::Verdict(verdict) => badge(*verdict),
        }
    }
}

/// A verdict as a coloured word.
pub fn badge(verdict: Verdict) -> String {
    let word = verdict.word();
    format!("<span class=\"badge {}\">{word}</span>", word.to_lowercase())
}

/// The first cell of a row is its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Table {
        Table { header: header.iter().map(|&title| title.to_owned()).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<Cell>) -> &mut Table {
        assert_eq!(cells.len(), self.header.len(), "a row has a cell for every column");
        self.rows.push(cells);
        self
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row[column], Cell::Number(_)))
    }

    /// Aligned lines, each ending in a newline, at most [`WIDEST`] wide as long as the names can
    /// give way; they lose their middle.
    pub fn text(&self) -> String {
        let mut lines: Vec<Vec<String>> = vec![self.header.clone()];
        lines.extend(self.rows.iter().map(|row| row.iter().map(Cell::text).collect()));
        let width = |lines: &[Vec<String>], column: usize| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
        };
        let columns = self.header.len();
        let others: usize = (1..columns).map(|column| 2 + width(&lines, column)).sum();
        let most = WIDEST.saturating_sub(others).max(8);
        for line in &mut lines {
            line[0] = without_middle(&line[0], most);
        }
        let mut text = String::new();
        for line in &lines {
            let mut row = String::new();
            for (column, cell) in line.iter().enumerate() {
                let width = width(&lines, column);
                let gap = if column == 0 { "" } else { "  " };
                row += &match self.is_numeric(column) {
                    true => format!("{gap}{cell:>width$}"),
                    false => format!("{gap}{cell:<width$}"),
                };
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    /// A table that scrolls by itself where the page is narrow.
    pub fn html(&self) -> String {
        let class = |column: usize| if self.is_numeric(column) { " class=\"number\"" } else { "" };
        let mut html = "<div class=\"scroll\"><table><thead><tr>".to_owned();
        for (column, title) in self.header.iter().enumerate() {
            html += &format!("<th scope=\"col\"{}>{}</th>", class(column), escape(title));
        }
        html += "</tr></thead><tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (column, cell) in row.iter().enumerate() {
                html += &match column {
                    0 => format!("<th scope=\"row\">{}</th>", cell.html()),
                    _ => format!("<td{}>{}</td>", class(column), cell.html()),
                };
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>\n"
    }
}

/// Words without anything that a terminal would obey.
fn words(text: &str) -> Vec<String> {
    let visible = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    text.split_whitespace().map(|word| word.chars().map(visible).collect()).collect()
}

/// A word in parts that fit a line with its indentation.
fn parts(word: &str, indent: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars.chunks(WIDEST - indent).map(|part| part.iter().collect()).collect()
}

/// A paragraph in lines of at most [`WIDEST`] characters; all but the first are indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in words(text).iter().flat_map(|word| parts(word, indent)) {
        let line = lines.last_mut().expect("there is a line");
        let first = line.trim().is_empty();
        if !first && line.chars().count() + 1 + word.chars().count() > WIDEST {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            *line += if first { "" } else { " " };
            *line += &word;
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(&["quantity", "mean", "verdict"]);
        let number = |text: &str| Cell::Number(text.to_owned());
        table.row(vec![Cell::Text("mu".into()), number("-1.25"), Cell::Verdict(Verdict::Pass)]);
        table.row(vec![Cell::Text("a\n<b>".into()), number("10"), Cell::Verdict(Verdict::Fail)]);
        table
    }

    #[test]
    fn text_is_aligned() {
        let expected = "quantity   mean  verdict\nmu        -1.25  PASS\na <b>        10  FAIL\n";
        assert_eq!(example().text(), expected);
    }

    #[test]
    fn names_give_way_to_the_width() {
        let mut table = example();
        table.row(vec![
            Cell::Text(format!("{}[7]", "x".repeat(200))),
            Cell::Number("3".into()),
            Cell::Verdict(Verdict::Warn),
        ]);
        let text = table.text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDEST), "{text}");
        assert!(text.contains("x[7]"), "{text}");
    }

    #[test]
    fn html_is_escaped_and_marked() {
        let html = example().html();
        assert!(html.contains("<th scope=\"row\">a\n&lt;b&gt;</th>"), "{html}");
        assert!(html.contains("<td class=\"number\">-1.25</td>"), "{html}");
        assert!(html.contains("<span class=\"badge fail\">FAIL</span>"), "{html}");
    }

    #[test]
    fn paragraphs_are_wrapped() {
        let text = wrapped(&"word ".repeat(60), 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDEST), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")), "{text}");
        assert_eq!(wrapped("", 2), "\n");
        let text = wrapped(&format!("* {}", "x".repeat(300)), 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDEST), "{text}");
        assert_eq!(text.matches('x').count(), 300);
    }
}
