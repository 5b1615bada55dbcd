//! An explanation for other programs: everything there is, in one object.

use serde_json::{Value as Json, json};
use smidgen::explain::Explained;
use smidgen::infer::Explanation;
use smidgen::infer::austerity::Check;
use smidgen::infer::explain::{BlockExplanation, Place, Prediction, SectionKind};
use smidgen::io::value_to_json;
use smidgen::lang::{SourceMap, Span};
use smidgen::value::Value;

pub fn object(explained: &Explained, seed: u64, sources: &SourceMap) -> Json {
    let kernels: Vec<Json> = explained.kernels.iter().map(|k| kernel(k, sources)).collect();
    let warmup = &explained.warmup;
    json!({
        "seed": seed,
        "choices": explained.choices,
        "default_kernel": explained.is_default,
        "warmup": {
            "runs": warmup.runs, "transitions": warmup.transitions, "out_of_time": warmup.hurried,
        },
        "kernels": kernels,
    })
}

fn number(x: f64) -> Json {
    value_to_json(&Value::Number(x))
}

fn kernel(found: &Explanation, sources: &SourceMap) -> Json {
    let blocks: Vec<Json> = found.blocks.iter().map(|b| block(b, sources)).collect();
    let warmup = &found.warmup;
    json!({
        "kernel": found.kernel,
        "occurrences": found.occurrences,
        "transitions": number(found.transitions),
        "target": found.target,
        "blocks_in_all": found.number_of_blocks,
        "blocks_looked_at": found.looked_at,
        "blocks_that_differ": found.sorts,
        "blocks": blocks,
        "warmup": {
            "transitions": warmup.transitions, "accepted": warmup.accepted,
            "sections_used": warmup.sections_used, "population": warmup.population,
        },
        "notes": found.notes,
        "advice": found.advice,
    })
}

fn block(found: &BlockExplanation, sources: &SourceMap) -> Json {
    let choices: Vec<Json> = (found.choices.iter())
        .map(|choices| with(place(&choices.place, sources), &[("count", json!(choices.count))]))
        .collect();
    let border: Vec<Json> = (found.border.iter())
        .map(|border| {
            let more = [
                ("is_choice", json!(border.is_choice)),
                ("direct_dependants", json!(border.children)),
            ];
            with(place(&border.place, sources), &more)
        })
        .collect();
    let refusal = found.refusal.as_ref().map(|refused| {
        let at = refused.span.map_or(json!({}), |span| position(span, sources));
        with(at, &[("reason", json!(refused.reason)), ("remedy", json!(refused.remedy))])
    });
    let kinds: Vec<Json> = found.kinds.iter().map(kind).collect();
    let sizes = &found.scaffold;
    json!({
        "id": found.id,
        "count": found.count,
        "choices": choices,
        "border": border,
        "global_nodes": found.global_nodes,
        "population": found.population,
        "populations": [found.populations.0, found.populations.1],
        "kinds": kinds,
        "evaluator": found.evaluator(),
        "scaffold": {
            "target": sizes.target, "absorbing": sizes.absorbing, "transient": sizes.transient,
        },
        "refusal": refusal,
        "prediction": found.prediction.as_ref().map(prediction),
        "advice": found.advice,
    })
}

fn kind(found: &SectionKind) -> Json {
    json!({
        "description": found.description, "signature": found.signature,
        "sections": found.sections, "entries": found.entries, "nodes": found.nodes,
        "absorbing": found.absorbing, "may_become_impossible": found.hard,
    })
}

fn prediction(found: &Prediction) -> Json {
    let design = found.design.as_ref().map(|design| {
        json!({
            "batch": design.batch, "epsilon": number(design.epsilon),
            "growth": number(design.growth), "sections": number(design.sections),
            "acceptance_error": number(design.acceptance_error),
        })
    });
    json!({
        "proposals": found.proposals,
        "sections_sampled": found.sampled,
        "acceptance": number(found.acceptance),
        "sections": number(found.sections),
        "exact_sections": number(found.exact_sections),
        "share": number(found.share()),
        "decision_error": number(found.decision_error),
        "acceptance_error": number(found.acceptance_error),
        "acceptance_bias": number(found.acceptance_bias),
        "noise": number(found.noise),
        "impossible": found.impossible,
        "design": design,
        "normality": found.check.as_ref().map(normality),
    })
}

fn normality(check: &Check) -> Json {
    json!({
        "trust": format!("{:?}", check.trust()).to_lowercase(),
        "skewness": number(check.skewness), "kurtosis": number(check.kurtosis),
        "largest": number(check.largest), "least_batch": check.least_batch,
        "reasons": check.reasons(),
    })
}

fn position(span: Span, sources: &SourceMap) -> Json {
    json!({ "file": sources.get(span.source).name, "line": sources.position(span).0 })
}

fn place(place: &Place, sources: &SourceMap) -> Json {
    let more = [("name", json!(place.name)), ("procedure", json!(place.procedure))];
    with(position(place.span, sources), &more)
}

/// An object with more fields.
fn with(mut object: Json, fields: &[(&str, Json)]) -> Json {
    for (name, value) in fields {
        object[*name] = value.clone();
    }
    object
}
