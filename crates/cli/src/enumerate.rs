//! `smidgen enumerate`: exact answers for finite programs.

use smidgen::enumerate::{EnumerateRequest, Enumerated, Marginal, enumerate as answers};
use smidgen::io::value_to_json;
use smidgen::sampling::Progress;
use smidgen::value::Value;

use crate::args::{EnumerateArgs, Format};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{inputs, output, progress};

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
        Format::Text => output::line(&found.to_string()),
    }
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
