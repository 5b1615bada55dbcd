//! An explanation for reading: one paragraph per kernel, a label on the left, at most 100 columns.

use smidgen::explain::{Explained, Warmup};
use smidgen::infer::Explanation;
use smidgen::infer::austerity::Trust;
use smidgen::infer::explain::advice::{percent, small};
use smidgen::infer::explain::{BlockExplanation, Choices, Place, Prediction, Refused};
use smidgen::lang::{SourceMap, printer};

const WIDTH: usize = 100;
/// Where the words begin, after a label.
const COLUMN: usize = 14;
/// How many places are listed.
const LISTED: usize = 5;

pub fn page(explained: &Explained, file: &str, sources: &SourceMap) -> String {
    let mut page = Page { text: String::new(), sources };
    let kernels = explained.kernels.len();
    let what = match (explained.is_default, kernels) {
        (true, _) => "no [infer ...], so the default kernel".to_owned(),
        (false, 0) => "no kernel in its [infer ...]".to_owned(),
        (false, n) => counted(n, "kernel"),
    };
    match explained.choices {
        0 => page.paragraph(&format!("{file}: {what}, and no random choice to move")),
        _ => page.paragraph(&format!("{file}: {what}, {}", state(&explained.warmup))),
    }
    for kernel in &explained.kernels {
        page.text.push('\n');
        page.kernel(kernel);
    }
    page.text
}

/// The state that was looked at.
fn state(warmup: &Warmup) -> String {
    let hurried = if warmup.hurried { " (as many as there was time for)" } else { "" };
    match warmup.transitions {
        0 => "looked at in a draw from the prior, which may be far from the posterior".to_owned(),
        n => {
            format!(
                "looked at after a warm-up of {}{hurried} that began with a draw from the prior",
                counted(n as usize, "transition")
            )
        }
    }
}

fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

struct Page<'a> {
    text: String,
    sources: &'a SourceMap,
}

impl Page<'_> {
    // ------------------------------------------------------------ lines

    /// Words after an indent, broken at blanks.
    fn wrapped(&mut self, first: &str, indent: usize, words: &str) {
        let mut line = first.to_owned();
        let mut is_empty = true;
        for word in words.split_whitespace() {
            let blank = usize::from(!is_empty);
            if !is_empty && line.chars().count() + blank + word.chars().count() > WIDTH {
                self.text.push_str(line.trim_end());
                self.text.push('\n');
                line = " ".repeat(indent);
            } else if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paragraph(&mut self, words: &str) {
        self.wrapped("", 2, words);
    }

    fn row(&mut self, label: &str, words: &str) {
        self.wrapped(&format!("  {label:<width$}", width = COLUMN - 2), COLUMN, words);
    }

    fn advice(&mut self, label: &str, advice: &[String]) {
        for (k, words) in advice.iter().enumerate() {
            let label = if k == 0 { label } else { "" };
            let first = format!("  {label:<width$}- ", width = COLUMN - 2);
            self.wrapped(&first, COLUMN + 2, words);
        }
    }

    // ------------------------------------------------------------ a kernel

    fn kernel(&mut self, found: &Explanation) {
        let name = match found.kernel.as_str() {
            "default" => "the default kernel",
            text => text,
        };
        self.paragraph(name);
        let mut what = found.target.clone();
        if found.occurrences > 1 {
            what = format!("{what} (the first of {} kernels with this text)", found.occurrences);
        }
        if !what.is_empty() {
            self.row("moves", &what);
        }
        let per_run = match found.transitions {
            n if n == n.round() => format!("{n:.0}"),
            n => format!("about {n:.1}"),
        };
        let plural = if found.transitions == 1.0 { "" } else { "s" };
        let mut run = format!("{per_run} transition{plural} in one run of the program");
        let warmup = &found.warmup;
        if warmup.transitions > 0 {
            let proposed = warmup.transitions - warmup.drawn;
            let moves = counted(warmup.transitions as usize, "move");
            run.push_str(&format!("; {moves} in the warm-up"));
            if proposed > 0 {
                let share = (warmup.accepted - warmup.changed) as f64 / proposed as f64;
                let of = if warmup.drawn > 0 {
                    format!(" of {proposed} proposals")
                } else {
                    String::new()
                };
                run.push_str(&format!(", {}{of} accepted", percent(share)));
            }
            if warmup.drawn > 0 {
                let share = warmup.changed as f64 / warmup.drawn as f64;
                let of = if proposed > 0 {
                    format!(" of {} conditional draws", warmup.drawn)
                } else {
                    String::new()
                };
                run.push_str(&format!(", {}{of} changed a value", percent(share)));
            }
        }
        if warmup.approximate > 0 {
            let share = warmup.sections_used as f64 / warmup.population as f64;
            run.push_str(&format!(", {} of the sections read", percent(share)));
        }
        self.row("runs", &run);
        for note in &found.notes {
            self.row("note", note);
        }
        if found.number_of_blocks > found.looked_at {
            let (seen, all) = (found.looked_at, found.number_of_blocks);
            self.row("looked at", &format!("{seen} of the {all} blocks, evenly spread"));
        }
        let several = found.blocks.len() > 1;
        for block in &found.blocks {
            if several {
                self.text.push('\n');
            }
            self.block(block);
        }
        if found.sorts > found.blocks.len() {
            let more = found.sorts - found.blocks.len();
            self.row("", &format!("{more} other sorts of blocks, with fewer dependent choices"));
        }
        self.advice("overall", &found.advice);
    }

    fn block(&mut self, block: &BlockExplanation) {
        self.row("block", &self.choices(block));
        let sizes = &block.scaffold;
        if let Some(refused) = &block.refusal {
            self.row("sections", &format!("none: {}", self.refused(refused)));
        } else {
            self.row("border", &self.border(block));
            self.sections(block);
        }
        let mut how = match block.reads_sections {
            true => format!(
                "{}: a move sets {} and reads sections until it can decide",
                block.evaluator(),
                counted(block.global_nodes, "value")
            ),
            false => format!(
                "{}: a move changes {} and weighs {}",
                block.evaluator(),
                counted(sizes.target, "value"),
                counted(sizes.absorbing, "dependent choice"),
            ),
        };
        if sizes.transient > 0 {
            let made = counted(sizes.transient, "value");
            how.push_str(&format!("; {made} may cease to exist and others be made anew"));
        }
        self.row("evaluator", &how);
        if let Some(prediction) = &block.prediction {
            self.prediction(prediction, block);
        }
        self.advice("faster?", &block.advice);
    }

    fn thing(&self, place: &Place) -> String {
        let at = self.sources.place(place.span);
        match &place.name {
            Some(name) => format!("{name} ({}, {at})", place.procedure),
            None => format!("{} ({at})", place.procedure),
        }
    }

    fn choices(&self, block: &BlockExplanation) -> String {
        let one = |choices: &Choices| match choices.count {
            1 => self.thing(&choices.place),
            n => format!("{n} choices {}", self.thing(&choices.place)),
        };
        let mut list: Vec<String> = block.choices.iter().take(LISTED).map(one).collect();
        if block.choices.len() > LISTED {
            list.push(format!("choices of {} other places", block.choices.len() - LISTED));
        }
        let list = list.join(", ");
        match (&block.id, block.count) {
            (Some(id), 1) => format!("{id}: {list}"),
            (Some(id), n) => format!("{n} blocks like {id}: {list}"),
            (None, 1) => list,
            (None, n) => format!("{n} choices like {list}"),
        }
    }

    fn refused(&self, refused: &Refused) -> String {
        let Some(span) = refused.span else { return refused.reason.clone() };
        let text = printer::squeeze(self.sources.text(span));
        let text = match text.char_indices().nth(60) {
            Some((cut, _)) => format!("{}...", &text[..cut]),
            None => text,
        };
        format!("{}, at {}: {text}", refused.reason, self.sources.place(span))
    }

    fn border(&self, block: &BlockExplanation) -> String {
        let borders: Vec<String> = (block.border.iter().take(LISTED))
            .map(|border| {
                let itself = if border.is_choice { ", the choice itself" } else { "" };
                format!("{}{itself}", self.thing(&border.place))
            })
            .collect();
        let children: usize = block.border.iter().map(|border| border.children).sum();
        let nested = match block.population > children {
            true => format!("; {children} values use it directly, and fan out in their turn"),
            false => String::new(),
        };
        format!("{}{nested}", borders.join(" and "))
    }

    fn sections(&mut self, block: &BlockExplanation) {
        let (low, high) = block.populations;
        let range =
            if low < high { format!(" (from {low} in other blocks)") } else { String::new() };
        if let [kind] = &block.kinds[..] {
            let words = format!("{}{range}, each {}", block.population, kind.description);
            return self.row("sections", &words);
        }
        let kinds = block.kinds.len();
        let shared = match block.border.len() > 1 && block.population > block.scaffold.absorbing {
            true => " (a section counts once for each border that leads to it)",
            false => "",
        };
        let listed: usize = block.kinds.iter().map(|kind| kind.sections).sum();
        let shared = match listed > block.population {
            true => " (others lead to choices of the block itself, and are not drawn)",
            false => shared,
        };
        let kinds_of = counted(kinds, "kind");
        let words = format!("{}{range} of {kinds_of}{shared}:", block.population);
        self.row("sections", &words);
        for kind in block.kinds.iter().take(LISTED) {
            self.row("", &format!("{} x {}", kind.sections, kind.description));
        }
        if kinds > LISTED {
            self.row("", &format!("and {} more kinds", kinds - LISTED));
        }
    }

    fn prediction(&mut self, found: &Prediction, block: &BlockExplanation) {
        let sampled = found.sampled.map_or_else(String::new, |n| {
            format!(" ({n} of the sections of each were read, so this is rough)")
        });
        self.row(
            "prediction",
            &format!(
                "from {} at this state{sampled}: {} accepted",
                counted(found.proposals, "trial proposal"),
                percent(found.acceptance)
            ),
        );
        if !block.reads_sections {
            return;
        }
        let gain = match found.sections > 0.0 {
            true => found.exact_sections / found.sections,
            false => 1.0,
        };
        self.row(
            "",
            &format!(
                "{:.0} sections read per transition; exactly it would be {:.0} ({} of them, {gain:.1} times fewer)",
                found.sections,
                found.exact_sections,
                percent(found.share())
            ),
        );
        if found.decision_error > 0.0 {
            self.row(
                "",
                &format!(
                    "{} of decisions wrong; acceptance probability off by {} on average",
                    percent(found.decision_error),
                    small(found.acceptance_error)
                ),
            );
        }
        if found.impossible > 0 {
            let (k, n) = (found.impossible, found.proposals);
            self.row("", &format!("{k} of {n} proposals made some section impossible"));
        }
        if let Some(check) = found.check.as_ref().filter(|_| found.noise > 0.0) {
            let verdict = match check.trust() {
                Trust::Fine => "fine: the test's assumption holds well enough",
                Trust::Doubtful => "doubtful",
                Trust::Refuse => "not to be trusted",
            };
            self.row("normality", verdict);
            self.advice("", &check.reasons());
        }
    }
}
