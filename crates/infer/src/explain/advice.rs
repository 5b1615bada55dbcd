//! Why a kernel is not faster, and what to do about it. Only what applies is said.

use smidgen_engine::Refusal;

use super::predict::{Suggestion, TARGET, Test};
use super::{BlockExplanation, Explanation, Prediction};
use crate::austerity::Trust;
use crate::record::Tally;

/// A test that reads more than this share does not pay for its error.
const PAYS: f64 = 0.5;
/// Steps that are accepted this often are as wide as the posterior, and a test that then reads this
/// share has met the bound of theory 3.5.
const MOVES: f64 = 0.05;
const BOUNDED: f64 = 0.2;
/// Wrong decisions that are too many, and an acceptance probability that is too far off.
const WRONG: f64 = 0.05;
const OFF: f64 = 2.0 * TARGET;
/// Acceptance rates that say something about the steps.
const RARELY: f64 = 0.02;
const MOSTLY: f64 = 0.9;
/// Populations for which subsampling may be worth a thought.
pub const MANY: usize = 200;
/// Transitions from which on an acceptance rate means something.
const ENOUGH: u64 = 100;

/// What to do about a block without sections.
pub fn remedy(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoBorder => "there is nothing to draw a sample from; mh does the same",
        Refusal::Structure { .. } => {
            "sections are for changes of values: give what decides a block and an mh kernel of its own, or compute with both cases, as in (+ (* b x) (* (- 1 b) y)), instead of choosing between them"
        }
        Refusal::Randomness { .. } => {
            "draws from made procedures (make_crp, ...) depend on each other and cannot be read one by one"
        }
        Refusal::MayStop { .. } => {
            "let it have a value everywhere, or let an observation read it; mh weighs all of it"
        }
        Refusal::Coupled { .. } => {
            "mh moves such choices through the statistics of the procedure, which is cheap"
        }
        Refusal::TooLarge { .. } => {
            "a computed value that all later ones depend on (a recursion without random steps) keeps everything in one piece; random steps in between would cut it into sections"
        }
        Refusal::Entangled { .. } => "move the choices of the block one by one, in separate blocks",
    }
}

/// Percent without false precision.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p > 0.0 && p < 0.1 => "less than 0.1%".to_owned(),
        p if p > 0.0 && p < 9.95 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

fn kernel_of(found: &Suggestion) -> String {
    format!("batch {}, epsilon {} and 'growth {}", found.batch, found.epsilon, found.growth)
}

fn cost_of(found: &Suggestion, prediction: &Prediction) -> String {
    format!(
        "about {} of the sections, with an acceptance probability off by {} on average",
        percent(found.sections / prediction.exact_sections.max(1.0)),
        small(found.acceptance_error)
    )
}

/// About an exact kernel.
pub fn exact(block: &BlockExplanation) -> Vec<String> {
    let mut advice = Vec::new();
    let (sizes, population) = (&block.scaffold, block.population);
    if let Some(refused) = &block.refusal
        && sizes.absorbing >= MANY
    {
        advice.push(format!(
            "each transition weighs {} choices, and subsampled_mh could not draw from them: {}; {}",
            sizes.absorbing, refused.reason, refused.remedy
        ));
    }
    if let Some(prediction) = &block.prediction {
        match &prediction.design {
            _ if block.kinds.iter().any(|kind| kind.hard) => advice.push(format!(
                "each transition reads all {population} sections, and must: a proposal may make some of them impossible, which a test notices only if it reads them"
            )),
            Some(found) if found.sections <= PAYS * prediction.exact_sections => {
                advice.push(format!(
                    "each transition reads all {population} sections; subsampled_mh with {} would read {}",
                    kernel_of(found),
                    cost_of(found, prediction)
                ));
            }
            _ => advice.push(format!(
                "each transition reads all {population} sections; subsampled_mh would not pay at this state: no test that is right often enough reads less than half of them"
            )),
        }
    } else if block.refusal.is_none() && population >= MANY {
        advice.push(format!(
            "each transition of this block reads all {population} sections; subsampled_mh can decide on some of them: try --kernel \"(subsampled_mh default one auto auto 1000)\", or give the block a scope"
        ));
    }
    advice
}

/// About a kernel that subsamples: the block, its test, and whether it draws by kind.
pub fn subsampled(block: &BlockExplanation, test: &Test, by_kind: bool) -> Vec<String> {
    let mut advice = Vec::new();
    if let Some(refused) = &block.refusal {
        advice.push(format!(
            "without sections every transition is exact and goes through all {} values that the block changes or weighs; {}",
            block.scaffold.size(),
            refused.remedy
        ));
        return advice;
    }
    let (population, first) = (block.population, test.schedule.first);
    if population <= first {
        advice.push(format!(
            "the first look would take {first} sections and there are {population}: every decision is exact, and mh does the same; a batch far below {population} is needed for a test"
        ));
    }
    if let Some(hard) = block.kinds.iter().find(|kind| kind.hard)
        && test.epsilon > 0.0
    {
        advice.push(format!(
            "a proposal may make sections like {} impossible, which a test notices only if it reads them: wrong acceptances are possible whatever epsilon is; use mh, or epsilon 0",
            hard.description
        ));
    }
    if let Some(prediction) = &block.prediction
        && test.epsilon > 0.0
    {
        about_test(&mut advice, block, prediction, test, by_kind);
    }
    advice
}

fn about_test(
    advice: &mut Vec<String>,
    block: &BlockExplanation,
    prediction: &Prediction,
    test: &Test,
    by_kind: bool,
) {
    let share = prediction.share();
    let first_share = test.schedule.first as f64 / block.population as f64;
    if prediction.noise == 0.0 {
        advice.push("the sections have equal log weights, from which a t-test learns nothing: it reads on to the end".to_owned());
    } else if share >= BOUNDED && share < 1.5 * first_share {
        advice.push(format!(
            "the first look alone takes {} of the sections, and mostly decides: a smaller batch may read less",
            percent(first_share)
        ));
    } else if prediction.acceptance >= MOVES && share >= BOUNDED {
        let end = if share > PAYS { "; the test hardly pays for its error, use mh" } else { "" };
        advice.push(format!(
            "the steps are about as wide as the posterior: log weights of single sections then differ so much (noise {:.0} in log alpha) that a test must read a constant share of the sections, here {}, however many there are. The gain is a constant factor, which more data does not enlarge{end}",
            prediction.noise,
            percent(share)
        ));
    }
    let errs = prediction.decision_error > WRONG || prediction.acceptance_error > OFF;
    if errs {
        let end = match &prediction.design {
            Some(found) => {
                format!("{} would read {}", kernel_of(found), cost_of(found, prediction))
            }
            None => "no test of this kind does better without reading nearly everything: use mh"
                .to_owned(),
        };
        advice.push(format!(
            "{} of the decisions are wrong, which makes the draws too widely spread: use a smaller epsilon or a larger batch; {end}",
            percent(prediction.decision_error)
        ));
    } else if let Some(found) = &prediction.design
        && found.sections < 0.8 * prediction.sections
    {
        advice.push(format!(
            "a cheaper test: {} would read {}",
            kernel_of(found),
            cost_of(found, prediction)
        ));
    }
    if let Some(check) = &prediction.check {
        let (least, first) = (check.least_batch, test.schedule.first);
        if least > first && least < block.population {
            advice.push(format!(
                "the log weights are skewed: a first look at {first} is too early for epsilon {}; begin with {least} (a larger batch, or 'min_batches)",
                test.epsilon
            ));
        }
        if check.trust() == Trust::Refuse {
            advice.push(
                "the log weights are so unlike a normal population that the test should not be trusted: use mh".to_owned(),
            );
        }
    }
    if block.strata > 1 && !by_kind {
        advice.push(format!(
            "there are {} kinds of sections: 'test 'stratified draws from each by its spread, and reads less when they differ",
            block.strata
        ));
    }
}

/// About the width of the steps: a single state may deceive, so the warm-up must agree.
fn steps(prediction: &Prediction, measured: Option<f64>) -> Option<String> {
    let (here, measured) = (prediction.acceptance, measured.unwrap_or(prediction.acceptance));
    let rate = percent(here);
    if here.max(measured) < RARELY {
        let remedy = if prediction.is_local {
            "take smaller steps by 'drift"
        } else {
            "proposals come from the prior; take steps from the current value, by 'drift and a standard deviation"
        };
        return Some(format!(
            "hardly any proposal is accepted ({rate}), so the chain stays where it is, however cheap a decision is: {remedy}"
        ));
    }
    (prediction.is_local && here.min(measured) > MOSTLY).then(|| {
        format!(
            "nearly every proposal is accepted ({rate}): the steps are small; larger ones by 'drift explore faster, and their decisions are cheaper"
        )
    })
}

/// About the kernel as a whole, when its blocks and its warm-up are known.
pub fn whole(explanation: &mut Explanation) {
    let (blocks, transitions) = (explanation.number_of_blocks, explanation.transitions);
    if explanation.draws_block
        && blocks > 1
        && transitions > 0.0
        && (blocks as f64) > 2.0 * transitions
    {
        explanation.advice.push(format!(
            "one run of the program makes {transitions:.0} moves among {blocks} blocks: give it more, or `each` instead of `one`"
        ));
    }
    // What is drawn from a conditional law has no steps.
    let Tally { transitions, accepted, drawn, changed, .. } = explanation.warmup;
    let (transitions, accepted) = (transitions - drawn, accepted - changed);
    let measured = (transitions >= ENOUGH).then(|| accepted as f64 / transitions as f64);
    for block in &mut explanation.blocks {
        let said = block.prediction.as_ref().and_then(|found| steps(found, measured));
        block.advice.extend(said);
    }
    let predicted = explanation.blocks.iter().any(|block| block.prediction.is_some());
    if !predicted && measured.is_some_and(|rate| rate < RARELY) {
        explanation.advice.push(format!(
            "{accepted} of {transitions} proposals were accepted in the warm-up: smaller steps ('drift), or blocks of choices that move together"
        ));
    }
}

/// A small number, to three places.
pub fn small(x: f64) -> String {
    if x > 0.0 && x < 0.0005 { "less than 0.001".to_owned() } else { format!("{x:.3}") }
}
