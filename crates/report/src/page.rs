//! The skeleton of a page: one file with its style inside, no script, nothing to load.
//!
//! A page is written from top to bottom; everything that takes text escapes it.

use crate::svg::escape;
use crate::table::{Table, badge};
use crate::{Finding, Verdict};

/// Of pages, and of the plots on them (`plot.css`, which also goes into pictures of their own).
const STYLE: &str = concat!(include_str!("style.css"), include_str!("plot.css"));

/// A plot (or several, one below the other) with a sentence about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    pub svg: String,
    pub caption: String,
}

impl Figure {
    pub fn new(svg: String, caption: &str) -> Figure {
        Figure { svg, caption: caption.to_owned() }
    }
}

#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    in_section: bool,
}

impl Page {
    pub fn new(title: &str, verdict: Option<Verdict>) -> Page {
        let badge = verdict.map(|verdict| format!(" {}", badge(verdict))).unwrap_or_default();
        let body = format!("<h1>{}{badge}</h1>\n", escape(title));
        Page { title: title.to_owned(), body, in_section: false }
    }

    /// What follows, up to the next section, stands under this heading.
    pub fn section(&mut self, title: &str) -> &mut Page {
        self.end_section();
        self.in_section = true;
        self.body += &format!("<section>\n<h2>{}</h2>\n", escape(title));
        self
    }

    fn end_section(&mut self) {
        if std::mem::take(&mut self.in_section) {
            self.body += "</section>\n";
        }
    }

    pub fn heading(&mut self, title: &str) -> &mut Page {
        self.body += &format!("<h3>{}</h3>\n", escape(title));
        self
    }

    pub fn paragraph(&mut self, text: &str) -> &mut Page {
        self.body += &format!("<p>{}</p>\n", escape(text));
        self
    }

    /// A sentence about how to read what comes next.
    pub fn note(&mut self, text: &str) -> &mut Page {
        self.body += &format!("<p class=\"note\">{}</p>\n", escape(text));
        self
    }

    pub fn list(&mut self, items: &[String]) -> &mut Page {
        let item = |item: &String| format!("<li>{}</li>\n", escape(item));
        self.body += &format!("<ul>\n{}</ul>\n", items.iter().map(item).collect::<String>());
        self
    }

    pub fn findings(&mut self, findings: &[Finding]) -> &mut Page {
        self.body += "<ul class=\"findings\">\n";
        for Finding { verdict, text } in findings {
            self.body += &format!("<li>{}<span>{}</span></li>\n", badge(*verdict), escape(text));
        }
        self.body += "</ul>\n";
        self
    }

    /// Names and what they stand for.
    pub fn facts(&mut self, facts: &[(&str, String)]) -> &mut Page {
        self.body += "<dl>\n";
        for (name, text) in facts {
            self.body += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(text));
        }
        self.body += "</dl>\n";
        self
    }

    pub fn table(&mut self, table: &Table) -> &mut Page {
        self.body += &table.html();
        self
    }

    /// Plots side by side, as many as there is room for.
    pub fn figures(&mut self, figures: &[Figure]) -> &mut Page {
        self.figures_of("figures", figures)
    }

    /// The same for narrow plots.
    pub fn narrow_figures(&mut self, figures: &[Figure]) -> &mut Page {
        self.figures_of("figures narrow", figures)
    }

    fn figures_of(&mut self, class: &str, figures: &[Figure]) -> &mut Page {
        if figures.is_empty() {
            return self;
        }
        self.body += &format!("<div class=\"{class}\">\n");
        for Figure { svg, caption } in figures {
            let caption = match caption.is_empty() {
                true => String::new(),
                false => format!("<figcaption>{}</figcaption>", escape(caption)),
            };
            self.body += &format!("<figure>{svg}{caption}</figure>\n");
        }
        self.body += "</div>\n";
        self
    }

    /// A text as it is.
    pub fn text(&mut self, text: &str) -> &mut Page {
        self.body += &format!("<pre>{}</pre>\n", escape(text));
        self
    }

    /// A text as it is, folded away.
    pub fn folded_text(&mut self, summary: &str, text: &str) -> &mut Page {
        self.folded(summary, &format!("<pre>{}</pre>", escape(text)))
    }

    /// A table for those who want to see it.
    pub fn folded_table(&mut self, summary: &str, table: &Table) -> &mut Page {
        self.folded(summary, &table.html())
    }

    fn folded(&mut self, summary: &str, html: &str) -> &mut Page {
        let summary = escape(summary);
        self.body += &format!("<details><summary>{summary}</summary>{html}</details>\n");
        self
    }

    /// The whole file.
    pub fn html(mut self) -> String {
        self.end_section();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{}</main>\n\
             </body>\n</html>\n",
            escape(&self.title),
            self.body
        )
    }
}
