//! `smidgen enumerate`: exact answers for finite programs.

use std::fmt::Write as _;

use smidgen::enumerate::{EnumerateRequest, Enumerated, Marginal, enumerate as answers};
use smidgen::io::value_to_json;
use smidgen::sampling::Progress;
use smidgen::value::Value;

use crate::args::{EnumerateArgs, Format};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{inputs, output, progress};

/// Values of a quantity that are shown.
const SHOWN: usize = 20;

pub fn enumerate(args: &EnumerateArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, 0, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_data_used(&session, &program)?;
    let request = EnumerateRequest { record: args.record.clone(), most: args.most };
    let progress = Progress::default();
    let found =
        progress::with_bar(&progress, || answers(&mut session, &program, &request, &progress));
    let found = match found {
        Err(_) if interrupt.is_set() => return Err(Failure::Interrupted),
        result => result.map_err(|error| Failure::sample(&session, error))?,
    };
    match args.format {
        Format::Json => output::line(&json(&found).to_string()),
        Format::Text => output::line(&text(&found)),
    }
}

fn text(found: &Enumerated) -> String {
    let mut text = String::new();
    for marginal in &found.marginals {
        let Marginal { name, values } = marginal;
        let _ = write!(text, "{name}");
        if let Some((mean, sd)) = marginal.moments() {
            let _ = write!(text, "  mean {}  sd {}", number(mean), number(sd));
        }
        text.push('\n');
        let width = values.iter().take(SHOWN).map(|(v, _)| v.to_string().chars().count()).max();
        let width = width.unwrap_or(0);
        for (value, p) in values.iter().take(SHOWN) {
            let _ = writeln!(text, "  {:>width$}  {p:.10}", value.to_string());
        }
        if values.len() > SHOWN {
            let _ = writeln!(text, "  ... and {} more values", values.len() - SHOWN);
        }
    }
    let Enumerated { log_evidence, states, runs, .. } = found;
    let plural = |n: &usize, what: &str| format!("{n} {what}{}", if *n == 1 { "" } else { "s" });
    let _ = writeln!(text, "log evidence {log_evidence:.10}");
    let _ = writeln!(
        text,
        "{} of positive probability, {} of the program",
        plural(states, "state"),
        plural(runs, "run")
    );
    text
}

fn number(x: f64) -> String {
    format!("{x:.10}")
}

fn json(found: &Enumerated) -> serde_json::Value {
    let marginal = |marginal: &Marginal| {
        let value = |(value, p): &(Value, f64)| serde_json::json!({"value": value_to_json(value), "probability": p});
        let moments = marginal.moments();
        serde_json::json!({
            "name": marginal.name,
            "mean": moments.map(|m| m.0),
            "sd": moments.map(|m| m.1),
            "values": marginal.values.iter().map(value).collect::<Vec<_>>(),
        })
    };
    serde_json::json!({
        "log_evidence": found.log_evidence, "states": found.states, "runs": found.runs,
        "marginals": found.marginals.iter().map(marginal).collect::<Vec<_>>(),
    })
}
