//! What programs take from outside: tables, parameters, other program files.

use std::collections::BTreeMap;

use smidgen::io::json::value_to_json;
use smidgen::value::Value;
use smidgen::{OutcomeKind, Session, Settings};

fn run_with(params: &[(&str, Value)], text: &str) -> Result<Vec<String>, String> {
    let params: BTreeMap<String, Value> =
        params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut session = Session::new(Settings { seed: 1, params, ..Settings::default() });
    let say = |diagnostics: Vec<smidgen::lang::Diagnostic>| {
        diagnostics.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let program = session.parse_text("test", text).map_err(say)?;
    let mut shown = Vec::new();
    for directive in &program {
        for outcome in session.execute(directive).map_err(say)? {
            if matches!(outcome.kind, OutcomeKind::Assume { .. }) {
                continue;
            }
            if let Some(value) = outcome.kind.value() {
                let label = outcome.label.map_or_else(String::new, |label| format!("{label}="));
                shown.push(format!("{label}{}", value_to_json(&value)));
            }
        }
        smidgen::engine::check::check(session.model()).unwrap();
    }
    Ok(shown)
}

fn run(text: &str) -> Result<Vec<String>, String> {
    run_with(&[], text)
}

fn shows(text: &str, wanted: &[&str]) {
    assert_eq!(run(text).unwrap(), wanted, "{text}");
}

fn fails(text: &str, words: &[&str]) {
    let message = run(text).expect_err(text).to_lowercase();
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

const TABLE: &str = "[table t \"tests/language/points.csv\"] ";

#[test]
fn cells_columns_and_rows() {
    shows(&format!("{TABLE} [sample (column t a)]"), &["[1,3,5]"]);
    shows(&format!("{TABLE} [sample (cell t b 1)]"), &["4.5"]);
    shows(&format!("{TABLE} [sample (sum (column t b))]"), &["13.5"]);
    shows(
        &format!("{TABLE} [for row in t p: [predict (list row.index row.a row.flag row.name)]]"),
        &["p[0]=[0,1,true,\"one\"]", "p[1]=[1,3,false,\"two\"]", "p[2]=[2,5,true,\"three\"]"],
    );
}

#[test]
fn several_columns_are_one_vector() {
    let table = "[table t \"tests/language/points.csv\" (vector x \"x*\")] ";
    shows(&format!("{table} [for row in t [predict (sum row.x)]]"), &["30", "70", "110"]);
    shows(&format!("{table} [sample (cell t x 2)]"), &["[50,60]"]);
}

#[test]
fn observations_in_a_loop() {
    // Each row is observed at its mean: three times the log density of the mode.
    let mode = format!("{}", -1.5 * smidgen::value::math::ln(std::f64::consts::TAU));
    let found = run(&format!(
        "{TABLE} [for row in t o: [observe (normal row.a 1) row.a]] [log_likelihood]"
    ))
    .unwrap();
    let (found, mode): (f64, f64) = (found[0].parse().unwrap(), mode.parse().unwrap());
    assert!((found - mode).abs() < 1e-12);
    let text = format!(
        "{TABLE} [for row in t o: [observe (normal row.a 1) row.a]] [forget \"o[1]\"] [log_likelihood]"
    );
    let found: f64 = run(&text).unwrap()[0].parse().unwrap();
    assert!((found - mode * 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn a_loop_happens_whole_or_not_at_all() {
    let text = "[assume x (normal 0 1)] [for i in (range 0 3) o: [observe (normal x (- 2 i)) 0]]";
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", text).unwrap();
    session.execute(&program[0]).unwrap();
    session.execute(&program[1]).unwrap_err();
    assert_eq!(session.model().log_likelihood().unwrap(), 0.0);
    assert_eq!(session.model().records().len(), 1);
    let again = session.parse_text("test", "[for i in (range 0 2) o: [observe (normal x 1) 0]]");
    for directive in &again.unwrap() {
        session.execute(directive).unwrap();
    }
}

#[test]
fn a_failed_directive_leaves_the_trace() {
    let start = "[assume f (make_crp 1)] [assume m (mem (lambda (i) (f)))] [assume x (m 1)] [observe (m 2) 1]";
    for wrong in [
        "[observe (m 3) \"text\"]",
        "[observe (m 3) -4]",
        "[observe (m 2) 1]",
        "[observe (list (m 5)) 1]",
        "[assume y (+ (m 4) (first (list)))]",
        "[predict (zork (m 4))]",
        "[force (+ x 1) 2]",
        "[assume x (m 9)]",
        "[forget m]",
    ] {
        let mut session = Session::new(Settings { seed: 2, ..Settings::default() });
        for directive in &session.parse_text("test", start).unwrap() {
            session.execute(directive).unwrap();
        }
        let before = (session.model().live_nodes().count(), session.model().log_joint().unwrap());
        let directives = session.parse_text("test", wrong).unwrap();
        session.execute(&directives[0]).expect_err(wrong);
        let after = (session.model().live_nodes().count(), session.model().log_joint().unwrap());
        assert_eq!(before, after, "{wrong}");
        smidgen::engine::check::check(session.model()).unwrap();
    }
}

#[test]
fn parameters() {
    let list = Value::array(vec![Value::Number(1.0), Value::Number(2.5)]);
    let params = [("n", Value::Number(3.0)), ("a.b", list), ("on", Value::Bool(true))];
    let shown = run_with(&params, "[sample (+ {n} 1)] [sample {a.b}] [sample (if {on} 'y 'n)]");
    assert_eq!(shown.unwrap(), ["4", "[1,2.5]", "\"y\""]);
    fails("[sample {missing}]", &["missing"]);
}

#[test]
fn files_are_loaded() {
    shows("[load \"tests/language/part.smg\"] [sample (step loaded)]", &["42"]);
    fails("[load \"tests/language/nowhere.smg\"]", &["nowhere"]);
}

#[test]
fn what_is_wrong_with_data_is_said() {
    fails("[table t \"tests/language/nowhere.csv\"]", &["nowhere"]);
    fails("[table t \"tests/language/hole.csv\"] [sample (column t b)]", &["row 2", "`b`"]);
    shows("[table t \"tests/language/hole.csv\"] [sample (column t a)]", &["[1,3]"]);
    fails(&format!("{TABLE} [sample (column t zork)]"), &["zork"]);
    fails(&format!("{TABLE} [for row in t [predict row.zork]]"), &["zork"]);
    fails(&format!("{TABLE} [sample (cell t a 3)]"), &["3"]);
    let mixed = "[table t \"tests/language/mixed.csv\"] ";
    for program in
        ["[sample (column t y)]", "[sample (cell t y 0)]", "[for row in t [predict row.y]]"]
    {
        let words = ["`y`", "mixed.csv", "row 3 (line 4)", "number", "two", "(text y)"];
        fails(&format!("{mixed}{program}"), &words);
    }
    fails(&format!("{mixed}[for row in t [predict row.index]]"), &["row.index", "column `index`"]);
    shows(&format!("{mixed}[sample (cell t index 1)]"), &["8"]);
    shows("[table t \"tests/language/mixed.csv\" (text y)] [sample (cell t y 2)]", &["\"two\""]);
    fails("[table t \"tests/language/mixed.csv\" (text z)]", &["`z`"]);
    fails("[table t \"tests/language/mixed.csv\" (texts y)]", &["option"]);
    fails("[for row in nobody [predict 1]]", &["nobody"]);
    fails(&format!("{TABLE} [for row in t [assume x 1]]"), &["assume"]);
}

#[test]
fn constants_of_the_inference_language() {
    shows("[define n 3] [assume x (flip 1)] [infer (mh default one n)] [sample n]", &["3"]);
    shows(
        "[define s 0.5] [assume x (normal 0 1)] [observe x 2] [infer (repeat 2 (do))] [sample (* s x)]",
        &["1"],
    );
}

#[test]
fn an_observed_column_is_observed_row_by_row() {
    let model = "[assume b 0.5] [assume c 2]";
    let by_rows = "[for r in t [observe (normal (+ c (* b r.a)) 1) r.b]] [log_likelihood]";
    let wanted = run(&format!("{TABLE} {model} {by_rows}")).unwrap();
    for columns in [
        "[observe (normal (+ c (* b t.a)) 1) t.b]",
        "[observe (normal (vector_add c (scale_vector b t.a)) 1) t.b]",
        "[observe (normal (mapv (lambda (x) (+ c (* b x))) t.a) 1) t.b]",
        "[observe (normal (+ c (* b (+ 1 (* 2 t.index)))) 1) t.b]",
        "y: [observe (normal (+ c (* b t.\"a\")) 1) t.\"b\"] [report \"y[1]\"]",
    ] {
        let shown = run(&format!("{TABLE} {model} {columns} [log_likelihood]")).unwrap();
        assert_eq!(shown.last(), wanted.last(), "{columns}");
    }
    let vectors = "[table t \"tests/language/points.csv\" (vector x a)] [assume w (vector 2)]";
    let text =
        format!("{vectors} [observe (normal (matrix_times_vector t.x w) 1) t.b] [log_likelihood]");
    let rows =
        format!("{vectors} [for r in t [observe (normal (dot r.x w) 1) r.b]] [log_likelihood]");
    assert_eq!(run(&text).unwrap(), run(&rows).unwrap());
    fails(&format!("{TABLE} [predict t.a]"), &["no row is given"]);
    // A name with a point may be the program's own.
    shows(&format!("{TABLE} [assume t.z 3] [predict t.z]"), &["3"]);
}

#[test]
fn parameters_fall_back_on_their_defaults() {
    shows("[sample {sd=2.5}]", &["2.5"]);
    shows("[sample '(a {sd=2.5})]", &["[\"a\",2.5]"]);
    shows("[sample (list {yes=true} {word= \"a b\"})]", &["[true,\"a b\"]"]);
    let given = run_with(&[("sd", Value::Number(4.0))], "[sample {sd=2.5}]").unwrap();
    assert_eq!(given, ["4"]);
    fails("[sample {sd}]", &["sd", "not given"]);
}

#[test]
fn rows_and_levels_are_constants() {
    let text = "[table t \"tests/language/mixed.csv\" (text y)]";
    shows(&format!("{text} [sample (rows t)] [sample (levels t index)]"), &["3", "[7,8,9]"]);
    shows(&format!("{text} [sample (levels t y)]"), &["[\"1\",\"1.5\",\"two\"]"]);
    shows(&format!("{TABLE} [assume x (normal 0 1)] [infer (mh default one (rows t))]"), &[]);
    shows("[assume rows (lambda (x) 5)] [assume t 1] [sample (rows t)]", &["5"]);
    fails(&format!("{TABLE} [sample (levels t nobody)]"), &["no column `nobody`"]);
    fails("[sample (rows t)]", &["no table `t`"]);
    fails(&format!("{TABLE} [sample (rows t a)]"), &["(rows table)"]);
    fails(
        "[table t \"tests/language/points.csv\" (vector x a)] [sample (levels t x)]",
        &["vectors"],
    );
}

#[test]
fn columns_of_any_name() {
    let plain = "[table t \"tests/language/names.csv\"]";
    shows(&format!("{plain} [sample (column t \"x y\")]"), &["[1,3]"]);
    shows(&format!("{plain} [sample (levels t \"z-w\")]"), &["[2,4]"]);
    shows(&format!("{plain} [for r in t [predict (+ 1 r.\"x y\")]]"), &["2", "4"]);
    let vector = "[table t \"tests/language/names.csv\" (vector \"both of them\" \"x y\" \"z-w\")]";
    shows(&format!("{vector} [sample (cell t \"both of them\" 1)]"), &["[3,4]"]);
    shows(&format!("{vector} [for r in t [predict (sum r.\"both of them\")]]"), &["3", "7"]);
}

#[test]
fn a_given_table_takes_vectors() {
    use smidgen::value::{Column, Symbol, Table};
    let column = |name: &str, xs: [f64; 2]| (Symbol::new(name), Column::Reals(xs.into()));
    let table = Table::new(vec![
        column("x1", [1.0, 2.0]),
        column("x2", [3.0, 4.0]),
        column("a b", [5.0, 6.0]),
        (Symbol::new("ok"), Column::Booleans([true, false].into())),
    ]);
    let shown = |text: &str| -> Result<Vec<String>, String> {
        let mut session = Session::new(Settings::default());
        session.give_table("t", std::sync::Arc::new(table.clone()));
        let program = session.parse_text("test", text).expect("it can be read");
        let mut shown = Vec::new();
        for directive in &program {
            let outcomes = session.execute(directive).map_err(|wrong| wrong[0].message.clone())?;
            shown.extend(outcomes.iter().filter_map(|o| o.kind.value()).map(|v| v.to_string()));
        }
        Ok(shown)
    };
    let by_pattern =
        shown("[table t (vector x \"x*\")] [sample (cell t x 1)] [sample (cell t x1 0)]");
    assert_eq!(by_pattern.unwrap(), ["(vector 2 4)", "1"]);
    let by_list = shown("[table t (vector x \"a b\" x1)] [for r in t [sample r.x]]");
    assert_eq!(by_list.unwrap(), ["(vector 5 1)", "(vector 6 2)"]);
    for (text, words) in [
        ("[table t (vector x nobody)]", "no column `nobody`"),
        ("[table t (vector x ok x1)]", "found truth values"),
        ("[table t (vector x1 x2)]", "name of another column"),
        ("[table t (text x1)]", "expected text"),
    ] {
        let said = shown(text).expect_err(text);
        assert!(said.contains(words) && said.contains("the table t"), "{said}");
    }
}
