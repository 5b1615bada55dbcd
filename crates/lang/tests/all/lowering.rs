use std::sync::Arc;

use smidgen_lang::core::ExprKind;
use smidgen_lang::lower::{
    Scope, free_globals, lower, lower_named, quote_to_value, syntax_of_value,
};
use smidgen_lang::printer::print;
use smidgen_value::{Symbol, Value};

use crate::support::{
    World, core, expression, lowered_in, lowering_errors, points, show, shown, world,
};

fn rows() -> Scope {
    Scope::global().with_row(Symbol::new("row"), points())
}

fn core_in(text: &str, scope: &Scope) -> String {
    show(&lowered_in(text, scope).unwrap_or_else(|errors| panic!("{text}: {errors:#?}")))
}

fn errors_in(text: &str, scope: &Scope) -> Vec<String> {
    shown(text, &lowered_in(text, scope).expect_err("an error"))
}

#[test]
fn names_resolve_to_the_innermost_frame_then_constants_then_globals() {
    assert_eq!(core("(lambda (x y) (f x y k))"), "(lambda (x y) (f x@0.0 y@0.1 5))");
    assert_eq!(
        core("(lambda (x) (lambda (y) (+ x y)))"),
        "(lambda (x) (lambda (y) (+ x@1.0 y@0.0)))"
    );
    assert_eq!(core("(lambda (k) k)"), "(lambda (k) k@0.0)");
    assert_eq!(core("(f true \"s\" -1.5)"), "(f true \"s\" -1.5)");
}

#[test]
fn let_binds_in_sequence_one_frame_each() {
    assert_eq!(
        core("(let ((a 1) (b (+ a 1))) (+ a b))"),
        "(let a 1 (let b (+ a@0.0 1) (+ a@1.0 b@0.0)))"
    );
    assert_eq!(core("(let ((a 1) (a a)) a)"), "(let a 1 (let a a@0.0 a@0.0))");
    assert_eq!(core("(let () 1 2)"), "(begin 1 2)");
    assert_eq!(core("(let ((f (lambda () 1))) f)"), "(let f (lambda:f () 1) f@0.0)");
}

#[test]
fn letrec_binds_together() {
    assert_eq!(
        core("(letrec ((f (lambda (n) (g n))) (g (mem (lambda (n) (f n))))) (f 1))"),
        "(letrec (f g) (lambda:f (n) (g@1.1 n@0.0)) (mem (lambda:g (n) (f@1.0 n@0.0))) (f@0.0 1))"
    );
    assert_eq!(
        lowering_errors("(letrec ((a 1) (b a)) b)"),
        ["a: `a` has no value yet where it is used here"]
    );
    assert_eq!(
        lowering_errors("(letrec ((a 1) (a 2)) a)"),
        ["2: the name `a` is bound twice here"]
    );
}

#[test]
fn conditions_become_ifs() {
    assert_eq!(core("(cond (a 1) (b 2 3) (else 4))"), "(if a 1 (if b (begin 2 3) 4))");
    assert_eq!(core("(and)"), "true");
    assert_eq!(core("(and a)"), "a");
    assert_eq!(core("(and a b c)"), "(if a (if b c false) false)");
    assert_eq!(core("(or)"), "false");
    assert_eq!(core("(or a)"), "a");
}

#[test]
fn or_holds_its_value_where_no_name_reaches() {
    assert_eq!(
        core("(lambda (t) (or t (f t) t))"),
        "(lambda (t) (let value of or t@0.0 (if value of or@0.0 value of or@0.0 \
         (let value of or (f t@1.0) (if value of or@0.0 value of or@0.0 t@2.0)))))"
    );
}

#[test]
fn scopes_and_environments_are_forms() {
    assert_eq!(core("(scope_include 's 0 (f))"), "(include s 0 (f))");
    assert_eq!(core("(scope_exclude 's (f))"), "(exclude s (f))");
    assert_eq!(
        core("(lambda (a b) (let ((c 1)) (get_current_environment)))"),
        "(lambda (a b) (let c 1 (environment [['c], ['a, 'b]])))"
    );
}

#[test]
fn a_special_form_that_is_bound_locally_is_a_name() {
    assert_eq!(core("(lambda (if) (if 1))"), "(lambda (if) (if@0.0 1))");
    assert_eq!(lowering_errors("(map if x)"), ["if: `if` is a special form, not a value"]);
}

#[test]
fn procedures_learn_their_names() {
    let named = |text: &str| {
        let name = Symbol::new("f");
        show(&lower_named(&expression(text), &Scope::global(), &world(), name).unwrap())
    };
    assert_eq!(named("(lambda (x) x)"), "(lambda:f (x) x@0.0)");
    assert_eq!(named("(mem (lambda (x) (lambda () x)))"), "(mem (lambda:f (x) (lambda () x@1.0)))");
    assert_eq!(named("(g (lambda () 1))"), "(g (lambda () 1))");
}

#[test]
fn quoted_text_is_data() {
    assert_eq!(core("'x"), "x");
    assert_eq!(core("'(a 1 \"s\" true () (b))"), "(list a 1 \"s\" true (list) (list b))");
    assert_eq!(core("''a"), "(list quote a)");
    assert_eq!(core("'({n})"), "(list 7)");
    let value = quote_to_value(&expression("(a (b 1))")).unwrap();
    assert_eq!(value.to_string(), "(list a (list b 1))");
    assert!(quote_to_value(&expression("({n})")).is_err());
}

#[test]
fn parameters_are_constants() {
    assert_eq!(core("(f {n})"), "(f 7)");
    assert_eq!(
        lowering_errors("(f {m} {a.b})"),
        [
            "{m}: parameter `m` was not given: pass --param m=VALUE",
            "{a.b}: parameter `a.b` was not given: pass --param a.b=VALUE",
        ]
    );
}

#[test]
fn rows_have_columns_and_an_index() {
    assert_eq!(core_in("(f row.x row.index)", &rows()), "(f (cell row.x@0.0) row.index@0.0)");
    assert_eq!(core_in("(lambda (a) row.v)", &rows()), "(lambda (a) (cell row.v@1.0))");
    assert_eq!(core_in("(lambda (row) row)", &rows()), "(lambda (row) row@0.0)");
    assert_eq!(errors_in("(f row)", &rows()), ["row: `row` is a row of a table: use `row.column`"]);
    assert_eq!(errors_in("row.hieght", &rows()), ["row.hieght: the table has no column `hieght`"]);
    let errors = lowered_in("row.hieght", &rows()).expect_err("an error");
    assert_eq!(errors[0].hints, ["its columns are height, x, v", "did you mean `height`?"]);
    let nested = rows().with_variable(Symbol::new("n"));
    assert_eq!(core_in("(f n row.x)", &nested), "(f n@0.0 (cell row.x@1.0))");
    assert!(nested.binds(Symbol::new("n")) && !nested.binds(Symbol::new("m")));
}

#[test]
fn whole_columns_and_cells_are_constants() {
    assert_eq!(core("(column points x)"), "(vector 1.5 2.5 3.5)");
    assert_eq!(core("(column points \"v\")"), "(array (vector 1 2) (vector 3 4) (vector 5 6))");
    assert_eq!(core("(cell points v 1)"), "(vector 3 4)");
    assert_eq!(
        core("(lambda (i) (cell points x i))"),
        "(lambda (i) (lookup (vector 1.5 2.5 3.5) i@0.0))"
    );
    assert_eq!(
        core("(lambda (points) (column points x))"),
        "(lambda (points) (column points@0.0 x))"
    );
    assert_eq!(
        lowering_errors("(cell points x 3)"),
        ["3: the index 3 is out of range: the table has 3 rows, counted from 0"]
    );
    assert_eq!(lowering_errors("(cell points x {m})").len(), 1);
    assert_eq!(lowering_errors("(cell points x 0.5)").len(), 1);
    assert_eq!(lowering_errors("(column points y)"), ["y: the table has no column `y`"]);
    assert_eq!(lowering_errors("(column point x)"), ["point: there is no table `point`"]);
    assert_eq!(
        lowering_errors("(cell points x)"),
        ["(cell points x): wrong shape of `cell`: expected `(cell table column index)`, \
          found 2 parts after it"]
    );
    let own = World { known: vec!["column".into()], ..world() };
    let expr = lower(&expression("(column a b)"), &Scope::global(), &own).unwrap();
    assert_eq!(show(&expr), "(column a b)");
}

#[test]
fn wrong_shapes_are_answered_with_the_right_ones() {
    let shapes = [
        ("(if a b)", "(if condition then else)"),
        ("(lambda (x))", "(lambda (name ...) body ...)"),
        ("(lambda)", "(lambda (name ...) body ...)"),
        ("(let ((a 1)))", "(let ((name value) ...) body ...)"),
        ("(begin)", "(begin e ...)"),
        ("(quote)", "(quote e)"),
        ("(scope_include 's (f))", "(scope_include scope block e)"),
        ("(scope_exclude 's)", "(scope_exclude scope e)"),
        ("(get_current_environment 1)", "(get_current_environment)"),
    ];
    for (text, shape) in shapes {
        let errors = lowering_errors(text);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].contains(&format!("expected `{shape}`")), "{errors:?}");
    }
    assert_eq!(
        lowering_errors("(lambda x x)"),
        [
            "x: expected the names of the arguments in parentheses here: `(lambda (name ...) body ...)`"
        ]
    );
    assert_eq!(
        lowering_errors("(let (a 1) a)"),
        [
            "a: expected (name value) here: `(let ((name value) ...) body ...)`",
            "1: expected (name value) here: `(let ((name value) ...) body ...)`",
        ]
    );
    assert_eq!(lowering_errors("(lambda (x x) x)"), ["x: the name `x` is bound twice here"]);
    assert_eq!(lowering_errors("(f ())"), ["(): `()` is not an expression"]);
    assert_eq!(lowering_errors("(cond (a 1))"), ["(cond (a 1)): `cond` has no `else` clause"]);
    assert_eq!(
        lowering_errors("(cond (else 1) (a 2) b (else 3))"),
        [
            "(else 1): `else` is the last clause of `cond`, but more clauses follow",
            "b: expected (condition value) here: `(cond (condition value) ... (else value))`",
        ]
    );
}

#[test]
fn all_mistakes_of_an_expression_are_found() {
    let marked: Vec<_> = lowering_errors("(f (if 1) {m} (lambda (x x) ()) (cell points y 0))")
        .iter()
        .map(|error| error.split(": ").next().unwrap().to_owned())
        .collect();
    assert_eq!(marked, ["(if 1)", "{m}", "x", "()", "y"]);
}

#[test]
fn values_are_code_again() {
    let span = expression("x").span;
    let back = |value: &Value| syntax_of_value(value, span).map(|syntax| print(&syntax));
    for text in ["(add 2 (f \"s\" true))", "'x", "(lambda (x) 'y)", "(lambda () 1)"] {
        let value = quote_to_value(&expression(text)).unwrap();
        assert_eq!(back(&value).unwrap(), text);
    }
    let array = Value::array(vec![Value::symbol("sum"), Value::vector([1.0, 2.0])]);
    assert_eq!(back(&array).unwrap(), "(sum (vector 1 2))");
    let improper = back(&Value::pair(1.0.into(), 2.0.into())).expect_err("an error");
    assert!(improper.message.contains("pair"));
    let dict = back(&Value::list([Value::dict([])])).expect_err("an error");
    assert!(dict.message.contains("a dictionary cannot be part of an expression"));
    let long = Value::list((0..200_000).map(|i| Value::Number(f64::from(i))));
    assert!(syntax_of_value(&long, span).is_ok());
}

#[test]
fn environments_give_their_scopes_back() {
    let text = "(lambda (a b) (let ((c 1)) (get_current_environment)))";
    let expr = lowered_in(text, &Scope::global()).unwrap();
    let ExprKind::Lambda(lambda) = &expr.kind else { panic!("a lambda") };
    let ExprKind::Let { body, .. } = &lambda.body.kind else { panic!("a let") };
    let ExprKind::CurrentEnvironment(frames) = &body.kind else { panic!("an environment") };
    let scope = Scope::of_environment(frames);
    assert_eq!(core_in("(f a b c)", &scope), "(f a@1.0 b@1.1 c@0.0)");
}

#[test]
fn global_names_are_collected_once() {
    let text = "(let ((a (g 1))) (letrec ((h (lambda () (h)))) (begin (if c (g a) (or d d)) \
                (scope_include s (b) (scope_exclude s '(e))))))";
    let expr = lowered_in(text, &Scope::global()).unwrap();
    let names: Vec<_> = free_globals(&expr).into_iter().map(Symbol::as_str).collect();
    assert_eq!(names, ["b", "c", "d", "g", "s"]);
}

#[test]
fn scopes_are_values() {
    let scope = Scope::of_environment(&[Arc::from([Symbol::new("a")])]);
    assert_eq!(format!("{:?}", scope.clone()), "[['a]]");
}
