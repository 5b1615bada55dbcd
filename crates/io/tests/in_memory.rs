//! Tables from batches that somebody holds in memory, and draws as batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use smidgen_draws::{Draws, Quantity, Run};
use smidgen_io::recorded::run_from_json;
use smidgen_io::{TableOptions, batches_of_draws, run_to_json, table_of_batches};
use smidgen_value::{Column, Symbol, Value};

fn schema() -> Arc<Schema> {
    let field = |name: &str, kind| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![field("x", DataType::Float64), field("n", DataType::Int64)]))
}

fn batch(xs: &[f64]) -> RecordBatch {
    let whole: Vec<i64> = (0..xs.len() as i64).collect();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Float64Array::from(xs.to_vec())), Arc::new(Int64Array::from(whole))];
    RecordBatch::try_new(schema(), columns).expect("columns of one length")
}

fn doubles(column: Option<&Column>) -> &[f64] {
    match column {
        Some(Column::Reals(xs)) => xs,
        other => panic!("no numbers: {other:?}"),
    }
}

#[test]
fn one_batch_is_lent_and_several_are_copied() {
    let (x, n) = (Symbol::new("x"), Symbol::new("n"));
    let only = batch(&[1.0, 2.0, 3.0]);
    let address = only.column(0).as_primitive::<Float64Type>().values().as_ptr();
    let options = TableOptions::default();
    let lent = table_of_batches("t", &schema(), std::slice::from_ref(&only), &options, true)
        .expect("a table");
    assert_eq!(doubles(lent.column(x)).as_ptr(), address);
    assert!(lent.column(x).is_some_and(Column::is_lent));
    assert!(!lent.column(n).is_some_and(Column::is_lent), "whole numbers become doubles");
    assert_eq!(doubles(lent.column(n)), [0.0, 1.0, 2.0]);
    let copied = table_of_batches("t", &schema(), std::slice::from_ref(&only), &options, false)
        .expect("a table");
    assert_ne!(doubles(copied.column(x)).as_ptr(), address);
    drop(only);
    assert_eq!(doubles(lent.column(x)), [1.0, 2.0, 3.0], "what is lent stays");
    let several = [batch(&[1.0]), batch(&[2.0, 3.0])];
    let joined = table_of_batches("t", &schema(), &several, &options, true).expect("a table");
    assert!(!joined.is_lent());
    assert_eq!(doubles(joined.column(x)), [1.0, 2.0, 3.0]);
}

#[test]
fn draws_are_batches_by_chain_and_json_is_read_to_the_last_bit() {
    let mut draws = Draws::default();
    let third = 1.0 / 3.0 * 0.1;
    let chains =
        vec![vec![Value::Number(third), Value::Number(0.1 + 0.2)], vec![Value::Number(1e-300)]];
    draws.add(Quantity::new("mu", chains));
    let run = Run { seed: 7, chains: 2, draws, ..Run::default() };
    let (schema, batches) = batches_of_draws(&run).expect("numbers have batches");
    assert_eq!(
        schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(),
        ["chain", "draw", "mu"]
    );
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 1]);
    let again = run_from_json(&run_to_json(&run).to_string()).expect("what was written");
    let mu = again.draws.get("mu").expect("the quantity");
    assert_eq!(mu.chains[0], [Value::Number(third), Value::Number(0.1 + 0.2)]);
    assert_eq!((mu.chains[1].as_slice(), again.seed), (&[Value::Number(1e-300)][..], 7));
}
