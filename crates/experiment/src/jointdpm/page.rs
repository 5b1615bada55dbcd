//! What was found about the joint mixture, as a page, as a table for a terminal and as JSON.

use serde_json::json;
use smidgen::report::number::{amount, count, fixed, percent, plural, significant, times};
use smidgen::report::page::Page;
use smidgen::report::plot::{Axis, Colour, Mark, Plot, Point, Shape};
use smidgen::report::table::{Cell, Table, wrapped};

use super::data::BAYES;
use super::{Course, GOAL, JointDpmFindings, Look, PROGRAM};
use crate::output::{Folder, Picture};
use crate::{Error, Options};

pub fn text(found: &JointDpmFindings) -> String {
    let mut text = table(found).text();
    text.push('\n');
    for sentence in sentences(found) {
        text += &wrapped(&sentence, 0);
    }
    text
}

/// The median of several chains, with the range in brackets.
fn seconds(reached: &[f64]) -> String {
    let time = |at: f64| if at.is_finite() { significant(at, 2) } else { "never".to_owned() };
    let median = time(reached[reached.len() / 2]);
    match reached {
        [] | [_] => median,
        [first, .., last] => format!("{median} ({}–{})", time(*first), time(*last)),
    }
}

fn table(found: &JointDpmFindings) -> Table {
    let mut table = Table::new(&[
        "ε",
        "sections",
        "share",
        "wrong",
        "w, µs",
        "z, µs",
        "rounds/s",
        "s to 0.92",
        "accuracy",
        "log score",
        "clusters",
    ]);
    let number = Cell::Number;
    for course in &found.courses {
        let end = course.end();
        table.row(vec![
            Cell::Text(course.name().replace("ε = ", "")),
            number(amount(course.sections)),
            number(percent(course.share)),
            number(percent(course.wrong)),
            number(significant(course.weights_us, 3)),
            number(significant(course.gibbs_us, 2)),
            number(amount(end.rounds as f64 / end.seconds)),
            number(seconds(&course.reached())),
            number(fixed(end.accuracy, 3)),
            number(fixed(end.score, 4)),
            number(count(end.clusters as u64)),
        ]);
    }
    table
}

fn sentences(found: &JointDpmFindings) -> Vec<String> {
    let Some((exact, widest)) = found.courses.first().zip(found.courses.last()) else {
        return Vec::new();
    };
    let each = |course: &Course| format!("{} {}", course.name(), seconds(&course.reached()));
    let times_to: Vec<String> = found.courses.iter().map(each).collect();
    let mut sentences = vec![format!(
        "Seconds to {GOAL} test accuracy ({BAYES} is the best possible), median and range of {}: {}. In the paper ε = 0.3 reached the accuracy of exact MH \
         in a tenth of the time, over hours.",
        plural(1 + exact.others.len() as u64, "chain"),
        times_to.join("; "),
    )];
    sentences.push(format!(
        "A transition of weights with {} takes {} µs and reads {} sections; an exact one takes {} µs and reads {}: {} times as many \
         transitions of weights in the same time. Decisions are wrong in {} of the cases.",
        widest.name(),
        significant(widest.weights_us, 2),
        amount(widest.sections),
        significant(exact.weights_us, 2),
        amount(exact.sections),
        times(exact.weights_us / widest.weights_us),
        percent(widest.wrong),
    ));
    let best_score = |a: &&Course, b: &&Course| a.end().score.total_cmp(&b.end().score);
    if let Some(top) = found.courses.iter().max_by(best_score) {
        sentences.push(format!(
            "What the wrong decisions do to the probabilities: after {} s the mean log probability of a test label is {} exact and {} with \
             {} (best: {}, {}).",
            significant(exact.end().seconds, 2),
            fixed(exact.end().score, 4),
            fixed(widest.end().score, 4),
            widest.name(),
            top.name(),
            fixed(top.end().score, 4),
        ));
    }
    sentences
}

pub fn page(found: &JointDpmFindings, options: &Options, folder: &Folder) -> Result<Page, Error> {
    let mut page = Page::new("Joint Dirichlet process mixture: a classifier that grows", None);
    page.paragraph(
        "The paper (section 4.2) classifies points by a mixture of logistic regressions, one per cluster of a Dirichlet process \
         mixture, and subsamples the decisions about the weights of each cluster. How many subsampled transitions there are at a time is itself inferred. \
         The data are made as the paper's were: four directions, and a class that shows in the distance.",
    );
    page.section("In short").list(&sentences(found));
    page.section("The paper's figures");
    folder.pictures(&mut page, &[training(found), clusters(found), accuracy(found)])?;
    page.section("Exact and subsampled");
    page.table(&table(found));
    page.note(
        "Sections: read per decision about the weights of a cluster, in the last tenth of the time, with their share of all. Wrong: decisions \
         that differ from the exact ones, audited in the last state. w, z: one transition of a cluster's weights, one Gibbs step of an \
         assignment. Seconds to 0.92: median and range over chains; all other columns are of the first chain. Log score: mean log probability of the test labels. Times are processor time of one thread.",
    );
    page.section("Why");
    page.list(&[
        "Half of the time goes to the assignments, as in the paper, and that half is the same for all. In the beginning it is the assignments that have to \
         settle, and a weight is worth nothing before its cluster is there."
            .to_owned(),
        "The weights start at their prior and have a long way to go, to a norm above ten in steps of 0.2: most proposals are \
         clearly good or clearly bad there, and this is where few sections are enough."
            .to_owned(),
        "Large epsilons flatten what is decided: near the posterior many decisions become coin tosses, the weights wander more than they \
         should. Classes hardly notice, because the boundary stays where it is; see the log score for the probabilities."
            .to_owned(),
    ]);
    page.section("How this was made");
    let steps = found.courses.iter().map(|c| format!("{} ({})", c.steps, c.name()));
    page.facts(&[
        ("program", "jointdpm.smg".to_owned()),
        (
            "points",
            format!("{} to learn from, {} to test", found.train.x.len(), found.test.x.len()),
        ),
        ("batch, proposal", "10, normal of sd 0.2".to_owned()),
        ("Gibbs steps per round", steps.collect::<Vec<_>>().join(", ")),
        (
            "prediction",
            "exact probability given the state, averaged over the time so far".to_owned(),
        ),
        ("seed", options.seed.to_string()),
        ("version", format!("smidgen {}", env!("CARGO_PKG_VERSION"))),
    ]);
    page.folded_text("The program", PROGRAM);
    Ok(page)
}

const SIDE: f64 = 2.7;

fn plane(title: &str) -> Plot {
    let axis = |name| Axis::new(name).range(-SIDE, SIDE);
    Plot::new(title, axis("first feature"), axis("second feature"), 330.0)
}

fn training(found: &JointDpmFindings) -> Picture {
    let mut plot = plane("Training data");
    let of = |class: bool| {
        let points = found.train.x.iter().zip(&found.train.y).take(3000);
        Mark::Dots(points.filter(|(_, y)| **y == class).map(|(x, _)| (x[0], x[1])).collect())
    };
    plot.named("class 1", Colour::First, of(true));
    plot.named("class 0", Colour::Second, of(false));
    Picture::new("training", plot, "The first 3,000 points at most.")
}

/// The largest epsilon, as in the paper: clusters by colour, boundaries, mistakes.
fn clusters(found: &JointDpmFindings) -> Picture {
    let course = found.courses.last().expect("there are several settings");
    let mut plot = plane(&format!("Clusters and mistakes, {}", course.name()));
    let mut order: Vec<usize> = (0..course.last.tables.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(course.last.tables[k].members));
    for (rank, &k) in order.iter().enumerate() {
        let colour = Colour::nth(rank % 6);
        let mut members = Vec::new();
        for (x, prediction) in found.test.x.iter().zip(&course.predictions) {
            if prediction.table == Some(k) {
                members.push((x[0], x[1]));
            }
        }
        let line = boundary(course.last.tables[k].weights, &members);
        plot.add(colour, Mark::Dots(members));
        plot.add(colour, Mark::Dashed(line));
    }
    let wrong = found.test.x.iter().zip(&found.test.y).zip(&course.predictions);
    let wrong = wrong.filter(|((_, y), prediction)| (prediction.p > 0.5) != **y);
    let points = wrong.map(|((x, _), _)| Point { x: x[0], y: x[1], ..Point::default() }).collect();
    plot.named("misclassified", Colour::Neutral, Mark::Points(Shape::Cross, points));
    let Look { clusters, seconds, .. } = course.end();
    let caption = format!(
        "{clusters} clusters after {} s; dashed: where a cluster's regression is undecided. The paper shows the same, with 6 clusters, after 2 hours.",
        significant(seconds, 2)
    );
    Picture::new("clusters", plot, caption)
}

/// The part of the line w · (1, x) = 0 beside a cluster's points.
fn boundary([w0, w1, w2]: [f64; 3], members: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let n = members.len() as f64;
    let norm = w1 * w1 + w2 * w2;
    if members.is_empty() || norm == 0.0 {
        return Vec::new();
    }
    let centre = members.iter().fold((0.0, 0.0), |c, p| (c.0 + p.0 / n, c.1 + p.1 / n));
    let above = (w0 + w1 * centre.0 + w2 * centre.1) / norm;
    let foot = (centre.0 - above * w1, centre.1 - above * w2);
    let length = smidgen::value::math::sqrt(norm);
    // A cluster of one class has its boundary anywhere.
    if above.abs() * length > 0.75 {
        return Vec::new();
    }
    let along = (-w2 / length, w1 / length);
    let inside = |p: &(f64, f64)| p.0.abs() <= SIDE && p.1.abs() <= SIDE;
    let ends = [-0.75, 0.75].map(|t| (foot.0 + t * along.0, foot.1 + t * along.1));
    ends.into_iter().filter(inside).collect()
}

fn accuracy(found: &JointDpmFindings) -> Picture {
    let looks = || found.courses.iter().flat_map(|course| &course.looks);
    let lowest = looks().map(|look| look.accuracy).fold(0.9, f64::min);
    let low = (lowest * 20.0).floor() / 20.0;
    let y = Axis::new("test accuracy").range(low, 0.96);
    let mut plot = Plot::new("Accuracy against time", Axis::log("processor seconds"), y, 330.0);
    plot.add(Colour::Neutral, Mark::Horizontal(BAYES));
    for (k, course) in found.courses.iter().enumerate() {
        let line: Vec<(f64, f64)> = course.looks.iter().map(|l| (l.seconds, l.accuracy)).collect();
        let mark = if k == 0 { Mark::Dashed(line) } else { Mark::Line(line) };
        plot.named(&course.name(), Colour::nth(k), mark);
        for looks in &course.others {
            let line = looks.iter().map(|look| (look.seconds, look.accuracy)).collect();
            plot.add(Colour::nth(k), Mark::Faint(line));
        }
    }
    Picture::new(
        "accuracy",
        plot,
        "Of the predictions averaged over the chain so far; faint: chains with other seeds; the line across is the best possible.",
    )
}

pub fn json(found: &JointDpmFindings, options: &Options) -> serde_json::Value {
    let course = |course: &Course| {
        let end = course.end();
        json!({
            "epsilon": course.epsilon,
            "gibbs_steps_per_round": course.steps,
            "sections_per_decision": course.sections,
            "share_of_sections": course.share,
            "wrong_decisions": course.wrong,
            "weights_us": course.weights_us,
            "gibbs_us": course.gibbs_us,
            "seconds": end.seconds,
            "rounds": end.rounds,
            "seconds_to_goal": course.reached().iter().map(|s| s.is_finite().then_some(s)).collect::<Vec<_>>(),
            "accuracy": end.accuracy,
            "state_accuracy": end.state,
            "log_score": end.score,
            "alpha": end.alpha,
            "clusters": course.last.tables.iter().map(|t| t.members).collect::<Vec<_>>(),
        })
    };
    json!({
        "experiment": "jointdpm",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "points": found.train.x.len(),
        "test_points": found.test.x.len(),
        "goal": GOAL,
        "best_possible": BAYES,
        "courses": found.courses.iter().map(course).collect::<Vec<_>>(),
    })
}
