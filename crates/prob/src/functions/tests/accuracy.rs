//! Accuracy in the tails against values computed with 60 digits (mpmath).

use super::{cases, eval};

fn number(text: &str) -> f64 {
    let value = eval(text);
    value.as_number().unwrap_or_else(|| panic!("{text} gives {value}"))
}

const RELATIVE: &str = "
    (logistic -700) => 9.8596765437597708567e-305
    (logistic -50) => 1.928749847963917783e-22
    (logistic -1) => 0.26894142136999512075
    (logistic 1e-10) => 0.500000000025
    (logistic 0.3) => 0.57444251681165898444
    (logistic 36) => 0.99999999999999976805
    (log_logistic -1000) => -1000
    (log_logistic -745) => -745
    (log_logistic -1) => -1.313261687518222834
    (log_logistic -1e-8) => -0.69314718555994532192
    (log_logistic 0.5) => -0.47407698418010668087
    (log_logistic 36) => -2.3195228302435691193e-16
    (log_logistic 40) => -4.2483542552915889863e-18
    (log_logistic 700) => -9.8596765437597708567e-305
    (logit 1e-300) => -690.77552789821370518
    (logit 1e-10) => -23.025850929840456804
    (logit 0.1) => -2.1972245773362193211
    (logit 0.25) => -1.0986122886681096914
    (logit 0.4999999) => -4.0000000001150759914e-7
    (logit 0.5000000001) => 4.0000003309614839964e-10
    (logit 0.6) => 0.40546510810816428946
    (logit 0.75) => 1.0986122886681096914
    (logit 0.9) => 2.1972245773362196295
    (logit 0.999999999999) => 27.631043237892358594
    (logsumexp -1000 -1001) => -999.68673831248177717
    (logsumexp 1000 1001 1002) => 1002.4076059644443803
    (logsumexp -745 -745) => -744.30685281944005469
    (logsumexp 1e-10 -1e-10) => 0.69314718055994530942
    (logsumexp (vector 3 3 3 3)) => 4.3862943611198906188
    (log1p 1e-300) => 1.0000000000000000251e-300
    (log1p 1e-10) => 9.9999999995000003644e-11
    (log1p -1e-10) => -1.0000000000500000364e-10
    (log1p 1e-5) => 9.9999500003333316514e-6
    (log1p -0.9999999) => -16.118095651484675636
    (log1p 1e10) => 23.02585093004045684
    (expm1 1e-300) => 1.0000000000000000251e-300
    (expm1 1e-10) => 1.0000000000500000364e-10
    (expm1 -1e-10) => -9.9999999995000003643e-11
    (expm1 1e-5) => 0.000010000050000166667901
    (expm1 -50) => -1
    (expm1 50) => 5.1847055285870724641e21
    (log_det (diag_matrix (vector 2 8))) => 2.7725887222397812377
    (log_det (matrix (list (list 1 2) (list 3 4)))) => 0.69314718055994530942
    (log_det (diag_matrix (vector 1e-200 1e-200))) => -921.03403719761827361
    (linear_logistic (vector -300 100) (vector -4)) => 9.8596765437597708567e-305
    (linear_logistic (vector 20 -3 -3) (vector 10 10)) => 4.2483542552915889773e-18
    (linear_logistic (vector 0.5 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1) (vector 0 -0.7 1.4 -2.1 2.8 -3.5 4.2 -4.9 5.6 -6.3)) => 0.0474258731775667675
";

#[test]
fn tails_keep_their_digits() {
    for (text, expected) in cases(RELATIVE) {
        let (got, want) = (number(text), number(expected));
        assert!((got - want).abs() <= 4e-15 * want.abs(), "{text}: {got} instead of {want}");
    }
}

#[test]
fn the_far_tails_neither_overflow_nor_turn_nan() {
    let table = "
        (logistic -745) => 5e-324
        (logistic -1e308) => 0
        (logistic 1e308) => 1
        (log_logistic -1e308) => -1e308
        (log_logistic 1e308) => 0
        (linear_logistic (vector 0 1 1) (vector 500 500)) => 1
        (linear_logistic (vector 0 1 1) (vector -500 -500)) => 0
        (logsumexp -1e308 -1e308) => -1e308
        (logsumexp 0 -1e308) => 0
    ";
    for (text, expected) in cases(table) {
        assert_eq!(number(text), number(expected), "{text}");
    }
    // The exact value is 4.25e-18; the sum is 1 to the last digit.
    assert!(number("(logsumexp 0 -40)").abs() < 1e-16);
}

#[test]
fn whole_division_is_exact_up_to_the_largest_whole_numbers() {
    let largest: i64 = (1 << 53) - 1;
    for (x, y) in
        [(largest, 3), (-largest, 3), (largest, -7), (largest, largest - 1), (-1, largest)]
    {
        let quotient = number(&format!("(int_div {x} {y})"));
        let remainder = number(&format!("(int_mod {x} {y})"));
        let floor = x.div_euclid(y) - i64::from(y < 0 && x.rem_euclid(y) != 0);
        assert_eq!(quotient as i64, floor, "{x} / {y}");
        assert_eq!(remainder as i64, x - floor * y, "{x} mod {y}");
    }
}
