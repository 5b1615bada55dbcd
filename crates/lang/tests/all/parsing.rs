use smidgen_lang::parser::{is_incomplete, parse, parse_expression};
use smidgen_lang::printer::print;
use smidgen_lang::syntax::{DirectiveKind, ForSource, Syntax, SyntaxKind};
use smidgen_value::{Symbol, Value};

use crate::support::{SOURCE, expression, program};

/// The only directive of a text.
fn directive(text: &str) -> DirectiveKind {
    let mut directives = program(text);
    assert_eq!(directives.len(), 1);
    directives.remove(0).kind
}

#[test]
fn every_directive_is_read() {
    let texts = [
        "[assume x 1]",
        "[observe (normal x 1) 2.5]",
        "[let k (f 3)]",
        "[impute t.x (normal 0 1)]",
        "[factor (- 0 x)]",
        "[predict x]",
        "[infer (mh default one 10)]",
        "[sample (f)]",
        "[force x 3]",
        "[report p]",
        "[forget \"beta[1]\"]",
        "[freeze 3]",
        "[clear]",
        "[log_joint]",
        "[log_likelihood]",
        "[define n 10]",
        "[table t \"t.csv\" (vector x \"x*\")]",
        "[for row in t [observe row.x 1] [predict row.y]]",
        "[load \"a.smg\"]",
    ];
    let forms: Vec<&str> = smidgen_lang::forms::DIRECTIVES.iter().map(|form| form.name).collect();
    assert_eq!(texts.len(), forms.len());
    for text in texts {
        let directives = program(text);
        assert_eq!(directives[0].span.end as usize, text.len());
        assert!(forms.contains(&text[1..].split([' ', ']']).next().unwrap()));
    }
}

#[test]
fn labels_are_names_or_strings() {
    let directives = program("p1: [predict x]\n\"beta[1]\": [predict y] [predict z]");
    let labels: Vec<_> =
        directives.iter().map(|d| d.label.as_ref().map(|label| label.name.as_str())).collect();
    assert_eq!(labels, [Some("p1"), Some("beta[1]"), None]);
}

#[test]
fn labels_of_report_may_be_numbers() {
    for (text, expected) in [("[report a]", "a"), ("[report \"b c\"]", "b c"), ("[report 3]", "3")]
    {
        match directive(text) {
            DirectiveKind::Report { label } => assert_eq!(label.name, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn for_takes_tables_and_ranges_and_nests() {
    let DirectiveKind::For { variable, source, body } =
        directive("[for row in train\n  l: [for n in (range 0 (size x)) [observe (f n) row.y]]]")
    else {
        panic!("a for")
    };
    assert_eq!(variable.name, Symbol::new("row"));
    assert!(matches!(source, ForSource::Table(table) if table.name == Symbol::new("train")));
    assert_eq!(body[0].label.as_ref().unwrap().name, "l");
    let DirectiveKind::For { source: ForSource::Range { low, high, .. }, body, .. } = &body[0].kind
    else {
        panic!("a range")
    };
    assert_eq!((print(low).as_str(), print(high).as_str()), ("0", "(size x)"));
    assert_eq!(body.len(), 1);
}

#[test]
fn a_table_may_lack_its_path() {
    let DirectiveKind::Table { path, options, .. } = directive("[table t (vector x a b)]") else {
        panic!("a table")
    };
    assert_eq!(path, None);
    assert_eq!(print(&options[0]), "(vector x a b)");
    let DirectiveKind::Table { path, options, .. } = directive("[table t \"p.csv\"]") else {
        panic!("a table")
    };
    assert_eq!((path.unwrap().name.as_str(), options.len()), ("p.csv", 0));
}

#[test]
fn expressions_keep_their_parts_and_places() {
    let text = "(f true {a.b} 'x \"s\" -1 ())";
    let SyntaxKind::List(items) = expression(text).kind else { panic!("a list") };
    let places: Vec<_> =
        items.iter().map(|i| &text[i.span.start as usize..i.span.end as usize]).collect();
    assert_eq!(places, ["f", "true", "{a.b}", "'x", "\"s\"", "-1", "()"]);
    assert_eq!(items[1].kind, SyntaxKind::Bool(true));
    assert_eq!(items[2].kind, SyntaxKind::Parameter { name: Symbol::new("a.b"), default: None });
    assert_eq!(items[6].kind, SyntaxKind::List(vec![]));
}

#[test]
fn quote_has_two_spellings() {
    for text in ["'x", "(quote x)"] {
        match expression(text).kind {
            SyntaxKind::Quote(datum) => {
                assert!(matches!(*datum, Syntax { kind: SyntaxKind::Name(_), .. }));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(print(&expression("(quote (quote (a b)))")), "''(a b)");
}

#[test]
fn the_fixtures_are_programs() {
    let counts = [
        (include_str!("../fixtures/regression.smg"), 10),
        (include_str!("../fixtures/mixture.smg"), 9),
        (include_str!("../fixtures/every_form.smg"), 22),
    ];
    for (text, count) in counts {
        assert_eq!(program(text).len(), count, "{text}");
    }
}

#[test]
fn a_prompt_knows_whether_more_may_come() {
    for text in ["[assume x", "[assume x (f 1)", "(", "[load \"a", "[assume x ; ]\n", "{"] {
        assert!(is_incomplete(text), "{text}");
    }
    for text in
        ["", "[assume x 1]", "[assume x (f 1]", ")", "[load \"a]\n", "; (", "[assume x \"(\"]"]
    {
        assert!(!is_incomplete(text), "{text}");
    }
}

#[test]
fn the_rest_of_a_program_survives_an_error() {
    let parsed =
        parse(SOURCE, "[assume x (f 1]\n[assume y\n[predict x]\nl: [asume z 1] [predict y]");
    assert_eq!(parsed.diagnostics.len(), 3);
    let kinds: Vec<_> = parsed.directives.iter().map(|d| std::mem::discriminant(&d.kind)).collect();
    assert_eq!(kinds.len(), 3, "{:#?}", parsed.directives);
    assert!(parsed.directives.iter().all(|directive| directive.label.is_none()));
}

#[test]
fn parameters_have_defaults() {
    let default = |text: &str| match parse_expression(SOURCE, text).map(|syntax| syntax.kind) {
        Ok(SyntaxKind::Parameter { default, .. }) => default,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(default("{sd}"), None);
    assert_eq!(default("{sd=2.5}"), Some(Value::Number(2.5)));
    assert_eq!(default("{sd=-1e-3}"), Some(Value::Number(-1e-3)));
    assert_eq!(default("{exact=true}"), Some(Value::Bool(true)));
    assert_eq!(default("{name= \"a b\"}"), Some(Value::text("a b".to_owned())));
    assert_eq!(default("{sd= 2}"), Some(Value::Number(2.0)));
    for wrong in ["{sd=}", "{=1}", "{sd=x}", "{sd=1 2}", "{sd 2}", "{sd=1e999}"] {
        let errors = parse_expression(SOURCE, wrong).expect_err(wrong);
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
    }
}

#[test]
fn a_column_of_any_name_stands_in_quotes() {
    let name = |text: &str| match parse_expression(SOURCE, text).map(|syntax| syntax.kind) {
        Ok(SyntaxKind::Name(name)) => name.as_str(),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(name(r#"row."any name""#), "row.any name");
    assert_eq!(name(r#"row."a \"b\"""#), "row.a \"b\"");
    assert_eq!(name(r#"row."plain""#), "row.plain");
    assert!(parse_expression(SOURCE, "row.\"open").is_err());
}
