//! What a run knows about one kernel, and what it tells: counts, audits, the worst finding about
//! the log weights. Records of several chains add up.

use smidgen_draws::run::{Approximation, KernelReport};
use smidgen_engine::Refusal;
use smidgen_lang::Span;
use smidgen_value::bytes_of_fields;

use crate::audit::{self, Audit};
use crate::austerity::{Check, Trust};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub transitions: u64,
    pub accepted: u64,
    /// Of the transitions, those that drew from a conditional law, where nothing is rejected; and how
    /// many of these changed a value (they are among the accepted).
    pub drawn: u64,
    pub changed: u64,
    /// Sections read for decisions (for an exact move of a whole scaffold: absorbing choices), of
    /// how many there were.
    pub sections_used: u64,
    pub population: u64,
    /// Decisions made by a test that may err.
    pub approximate: u64,
    /// Of these, how many read every section after all.
    pub exhausted: u64,
    /// Sections read to audit decisions, on top of those for the decisions.
    pub audit_sections: u64,
    /// Of the transitions, those that follow a gradient, and how many gradients they asked for.
    pub trajectories: u64,
    pub gradients: u64,
    /// Those whose energy error grew beyond bounds, and those that were cut short.
    pub diverged: u64,
    pub cut: u64,
    /// Those in standardised coordinates, beside others in plain ones.
    pub standardised: u64,
    /// Of the transitions, those by proposals from a reference, the rows they read, of how many there were, and remainders that
    /// were larger than their bounds.
    pub by_reference: u64,
    pub reference_rows: u64,
    pub reference_population: u64,
    pub violations: u64,
}

bytes_of_fields!(Tally {
    transitions,
    accepted,
    drawn,
    changed,
    sections_used,
    population,
    approximate,
    exhausted,
    audit_sections,
    trajectories,
    gradients,
    diverged,
    cut,
    standardised,
    by_reference,
    reference_rows,
    reference_population,
    violations,
});
bytes_of_fields!(Weighed { log_global, weights });
bytes_of_fields!(Kinds { continuous, discrete });
bytes_of_fields!(KernelRecord {
    tally,
    audits,
    checks,
    sections,
    pairs,
    choice,
    adapted,
    moves,
    refusals,
    reads_sections,
    compiled,
});

impl Tally {
    /// A transition that drew from a conditional law, by weighing so many absorbing choices.
    pub fn draw(&mut self, sections: u64, changed: bool) {
        self.transitions += 1;
        self.drawn += 1;
        self.accepted += u64::from(changed);
        self.changed += u64::from(changed);
        self.sections_used += sections;
        self.population += sections;
    }

    pub fn add(&mut self, other: &Tally) {
        self.transitions += other.transitions;
        self.accepted += other.accepted;
        self.drawn += other.drawn;
        self.changed += other.changed;
        self.sections_used += other.sections_used;
        self.population += other.population;
        self.approximate += other.approximate;
        self.exhausted += other.exhausted;
        self.audit_sections += other.audit_sections;
        self.trajectories += other.trajectories;
        self.gradients += other.gradients;
        self.diverged += other.diverged;
        self.cut += other.cut;
        self.standardised += other.standardised;
        self.by_reference += other.by_reference;
        self.reference_rows += other.reference_rows;
        self.reference_population += other.reference_population;
        self.violations += other.violations;
    }
}

/// A proposal with all its log weights: G, and l_i for every section.
#[derive(Clone, Debug)]
pub struct Weighed {
    pub log_global: f64,
    pub weights: Vec<f64>,
}

/// Which kinds of choices a kernel moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    pub continuous: bool,
    pub discrete: bool,
}

/// What a run knows about one kernel of its program.
#[derive(Clone, Debug, Default)]
pub struct KernelRecord {
    pub tally: Tally,
    /// Decisions that were also made exactly.
    pub audits: Vec<Audit>,
    /// The last normality checks.
    pub checks: Vec<Check>,
    /// Sections read by each decision, if the run is detailed.
    pub sections: Vec<u32>,
    /// Some audited decisions with all their log weights, if the run is detailed.
    pub pairs: Vec<Weighed>,
    /// In automatic mode: how it decides, or why it stays exact.
    pub choice: Option<Result<String, String>>,
    /// What it has learnt about its proposals.
    pub adapted: Option<String>,
    /// Whether continuous choices were moved, and discrete ones.
    pub moves: Kinds,
    /// Why blocks were moved whole, each reason once.
    pub refusals: Vec<Refusal>,
    /// Whether sections were read, rather than whole scaffolds.
    pub reads_sections: bool,
    /// Whether sections were weighed many at a time.
    pub compiled: bool,
}

impl KernelRecord {
    pub fn refuse(&mut self, refusal: Refusal) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// The worst of the last normality checks.
    pub fn worst_check(&self) -> Option<&Check> {
        self.checks.iter().max_by_key(|check| check.trust())
    }

    /// Takes in what another chain knows about the same kernel.
    pub fn merge(&mut self, other: KernelRecord) {
        self.tally.add(&other.tally);
        self.audits.extend(other.audits);
        self.sections.extend(other.sections);
        self.pairs.extend(other.pairs);
        self.moves.continuous |= other.moves.continuous;
        self.moves.discrete |= other.moves.discrete;
        self.reads_sections |= other.reads_sections;
        self.compiled |= other.compiled;
        self.checks.extend(other.checks);
        other.refusals.into_iter().for_each(|refusal| self.refuse(refusal));
        // That some chain stays exact is more worth knowing than what another one chose.
        if !matches!(self.choice, Some(Err(_))) && other.choice.is_some() {
            self.choice = other.choice;
        }
        self.adapted = self.adapted.take().or(other.adapted);
    }

    pub fn report(&self, kernel: &str) -> KernelReport {
        let tally = &self.tally;
        let evaluator = match (self.reads_sections, tally.gradients) {
            (true, _) if self.compiled => "compiled sections",
            (true, _) => "interpreted sections",
            (false, 0) => "trace",
            (false, _) => "compiled density",
        };
        let approximation = (tally.approximate > 0).then(|| {
            let audit = audit::report(&self.audits).unwrap_or_default();
            Approximation {
                decisions: tally.approximate,
                exhausted: tally.exhausted,
                audits: audit.audits,
                audit_sections: tally.audit_sections,
                wrongly_accepted: audit.wrongly_accepted,
                wrongly_rejected: audit.wrongly_rejected,
                interval: audit.interval,
                predicted_error: audit.predicted_error,
                predicted_usage: audit.predicted_usage,
            }
        });
        KernelReport {
            kernel: kernel.to_owned(),
            transitions: tally.transitions,
            accepted: tally.accepted,
            drawn: tally.drawn,
            changed: tally.changed,
            sections_used: tally.sections_used,
            population: tally.population,
            evaluator: evaluator.to_owned(),
            approximation,
            note: self.note(),
        }
    }

    /// How it decides and proposes, if it chose that itself.
    fn note(&self) -> Option<String> {
        let choice = self.choice.as_ref().map(|choice| match choice {
            Ok(note) => note.as_str(),
            Err(_) => "auto: exact",
        });
        let tally = &self.tally;
        let gradients = (tally.gradients > 0).then(|| {
            let each = tally.gradients as f64 / tally.trajectories.max(1) as f64;
            let of =
                if tally.trajectories < tally.transitions { "trajectory" } else { "transition" };
            format!("{each:.1} gradients per {of}")
        });
        let diverged = (tally.diverged > 0).then(|| {
            let noun = if tally.diverged == 1 { "trajectory" } else { "trajectories" };
            format!("{} {noun} diverged", tally.diverged)
        });
        let by_reference = self.by_reference();
        let notes = choice.into_iter().chain(self.adapted.as_deref());
        let notes = notes.chain(by_reference.as_deref()).chain(gradients.as_deref());
        let notes = notes.chain(diverged.as_deref());
        let notes: Vec<&str> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// How many rows moves by a reference read.
    fn by_reference(&self) -> Option<String> {
        let Tally { by_reference, reference_rows, reference_population, .. } = self.tally;
        (by_reference > 0).then(|| {
            let each = reference_rows as f64 / by_reference as f64;
            let rows = reference_population / by_reference;
            let digits = if each < 10.0 { 3 } else { 0 };
            format!("exact, {each:.digits$} of {rows} rows read per move")
        })
    }

    /// What the user should know before trusting the draws. `place` names a place in the program.
    pub fn warnings(&self, kernel: &str, place: &dyn Fn(Span) -> String) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.tally.violations > 0 {
            let times = self.tally.violations;
            warnings.push(format!(
                "{kernel}: a remainder was larger than its bound {times} times, so the draws are not exact: this is a bug of smidgen"
            ));
        }
        for refusal in &self.refusals {
            // That some cluster has a single member is no news if others have more.
            if *refusal == Refusal::NoBorder && self.reads_sections {
                continue;
            }
            let at = refusal.span().map_or_else(String::new, |span| format!(" ({})", place(span)));
            let which = if self.reads_sections { " for some blocks" } else { "" };
            warnings.push(format!("{kernel} makes the exact transition{which}: {refusal}{at}"));
        }
        if let Some(Err(reason)) = &self.choice {
            warnings.push(format!("{kernel} stays exact: {reason}"));
        }
        if let Some(check) = self.worst_check()
            && check.trust() > Trust::Fine
        {
            let found = match check.trust() {
                Trust::Refuse => "should not be trusted",
                _ => "err more often than epsilon says",
            };
            warnings.push(format!(
                "the decisions of {kernel} {found}: {}. Use a larger batch or an exact kernel, and see `smidgen compare`",
                main_reasons(check)
            ));
        }
        warnings.extend(stuck(kernel, self));
        let Tally { trajectories, cut, .. } = self.tally;
        if 20 * cut > trajectories {
            warnings.push(format!(
                "{cut} of {trajectories} trajectories of {kernel} were cut at their greatest length: successive draws are correlated, and a short run may not have been everywhere. Choices of very different scale or strong correlation are the usual cause"
            ));
        }
        if let Some(found) = audit::report(&self.audits) {
            // More than noise: the lower end of the interval lies above what is tolerable.
            if found.interval.0 > WRONG {
                warnings.push(format!(
                    "{kernel}: {} of {} audited decisions were wrong; the draws are too widely spread, or biased. Use a larger batch, a smaller epsilon or an exact kernel, and see `smidgen compare`",
                    found.wrong(), found.audits
                ));
            } else if found.predicted_error > WRONG {
                warnings.push(format!(
                    "{kernel}: about {:.0}% of its decisions are wrong, by the theory of the test at {} audited ones; the draws are too widely spread. Use a larger batch, a smaller epsilon or an exact kernel, and see `smidgen compare`",
                    100.0 * found.predicted_error, found.audits
                ));
            }
        }
        warnings
    }
}

impl KernelRecord {
    /// A warning about trajectories that diverged, where they matter: if there are many, if some did and all in one
    /// place, or if something else speaks against the draws as well. Where trajectories run in two systems of
    /// coordinates, what the one cannot enter the other can: of these more may diverge. `at` says where they did, if
    /// that is one place.
    pub fn divergence(&self, kernel: &str, is_sound: bool, at: Option<String>) -> Option<String> {
        let Tally { trajectories, diverged, standardised, .. } = self.tally;
        let advice = match head(kernel) {
            "default" => "Write the model in other coordinates",
            "nuts" => {
                "Raise the acceptance that the warm-up aims at (`'accept 0.99`), or write the model in other coordinates"
            }
            _ => "Take smaller steps, or write the model in other coordinates",
        };
        let many = match standardised > 0 {
            true => MANY_OF_TWO,
            false if at.is_some() => MANY_IN_ONE_PLACE,
            false => MANY_DIVERGED,
        };
        let matters = diverged as f64 > many * trajectories as f64 || (!is_sound && diverged > 0);
        let at = at.map_or_else(String::new, |at| format!(", mostly {at}"));
        matters.then(|| format!(
            "{diverged} of {trajectories} trajectories of {kernel} diverged{at}: the draws may miss regions where the density changes on a small scale. {advice}"
        ))
    }
}

/// Shares of diverged trajectories that matter whatever else is known.
const MANY_DIVERGED: f64 = 0.01;
const MANY_IN_ONE_PLACE: f64 = 0.001;
const MANY_OF_TWO: f64 = 0.05;

/// The name that a kernel begins with.
fn head(kernel: &str) -> &str {
    kernel.trim_start_matches('(').split_whitespace().next().unwrap_or_default()
}

/// Transitions from which on a kernel that changed nothing is worth a warning.
const MANY: u64 = 100;

/// A warning about a kernel that changed nothing, with what may help there.
fn stuck(kernel: &str, record: &KernelRecord) -> Option<String> {
    let Tally { transitions, accepted, drawn, .. } = record.tally;
    // One that has come to a maximum stays there, and particles are drawn whole.
    let may_stay = matches!(head(kernel), "map" | "resample");
    if accepted > 0 || transitions < MANY || may_stay {
        return None;
    }
    if drawn == transitions {
        return Some(format!(
            "{kernel} changed nothing in {transitions} transitions: every draw gave the values that were there. Either these are all but certain given the rest, or choices have to move together, as one block"
        ));
    }
    let walks = kernel.contains("'drift");
    let advice = match (head(kernel), record.moves) {
        ("mh" | "subsampled_mh", Kinds { continuous: true, .. }) if walks => {
            "Use smaller steps (a smaller sd after 'drift)"
        }
        ("mh" | "subsampled_mh", Kinds { continuous: true, discrete: false }) => {
            "Draws from the prior do not fit: take small steps, such as (mh default one 'drift 0.1 10)"
        }
        ("mh" | "subsampled_mh", Kinds { continuous: true, discrete: true }) => {
            "Draws from the prior do not fit: take small steps where choices are continuous ('drift), gibbs where they are discrete, and fewer choices at a time"
        }
        ("mh" | "subsampled_mh", _) => {
            "Draws from the prior do not fit: use gibbs or the default kernel, or move fewer choices at a time"
        }
        ("hmc", _) => "Use a smaller step size, or nuts",
        ("slice" | "slice_doubling", _) => "Use a smaller width",
        _ => {
            "Something holds every choice where it is: choices that constrain one another have to move together, as one block"
        }
    };
    Some(format!(
        "{kernel} changed nothing in {transitions} transitions: no proposal was accepted, the draws have not moved. {advice}"
    ))
}

/// The gravest findings of a check, as one sentence.
pub fn main_reasons(check: &Check) -> String {
    let reasons = check.reasons();
    reasons[..reasons.len().min(2)].join("; ")
}

/// Share of wrong decisions from which on a warning is due.
const WRONG: f64 = 0.05;
