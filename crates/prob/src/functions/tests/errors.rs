//! What is wrong is said in the language's words: the type wanted, "index", "pair",
//! "dimension", "rectangular" and so on.

use super::{cases, evaluate};

/// The words that the message contains, separated by `|`.
const MESSAGES: &str = r#"
    (+ 1 'a) => number | symbol
    (+ 'a) => number
    (- "a") => number | string
    (* (list 1) 2) => a number or a vector | a list
    (/ (id_matrix 2) 2) => a number or a vector | a matrix
    (+ (vector 1 2) (vector 1 2 3)) => dimension | 2 | 3
    (min 1 'a) => number
    (max (list)) => at least one number
    (abs (vector 1)) => expected a number, found a vector
    (int_div 1 0) => divisor other than 0
    (int_mod 1 false) => divisor other than 0
    (logsumexp 'a) => number
    (logsumexp (list 1 'a)) => vector of numbers
    (linear_logistic (vector 1 2) (vector 1 2)) => dimension | have 2 | has 2
    (linear_logistic (vector) (vector)) => dimension | have 0 | has 0
    (linear_logistic (vector 1) 'x) => vector of numbers | symbol
    (< 1 'a) => expected a number | symbol
    (< 1 2 "a") => expected a number | string
    (>= "a" 1) => expected a string | number
    (> 'a 1) => number | symbol
    (<= 2 1 'a) => number
    (not (list)) => boolean | the empty list
    (xor true 'a) => boolean | symbol
    (all_p (list true 'a)) => booleans
    (any_p 'a) => list
    (biplex 'a 1 2) => boolean
    (first (list)) => expected a non-empty list (a pair), found the empty list
    (first 3) => pair | number
    (first (array)) => pair | array
    (rest (list)) => pair
    (rest (vector)) => pair
    (second (list 1)) => pair
    (second (pair 1 2)) => pair
    (append (list 1) 2) => list | number
    (append (pair 1 2) (list)) => list
    (append (vector 1) (list 'a)) => vector of numbers
    (append 1 (list)) => list
    (reverse 3) => list
    (take -1 (list 1)) => length
    (take 1.5 (list 1)) => length
    (take 1 'a) => list
    (take 'a (list 1)) => number
    (zip (list 1) 3) => list
    (size 3) => list | number
    (size (pair 1 2)) => list
    (is_empty 'a) => list | symbol
    (lookup (list 1 2) 2) => index 2 | range
    (lookup (list) 0) => index 0
    (lookup (array 1) -1) => index -1
    (lookup (vector 1 2) 0.5) => index 0.5
    (lookup (pair 1 2) 1) => index 1
    (lookup (id_matrix 2) 2) => index 2
    (lookup (vector 1) 'a) => number | symbol
    (lookup 3 0) => list | number
    (lookup "ab" 0) => list | string
    (lookup (dict (array 'a 1)) 'b) => no key b
    (contains 3 1) => list | number
    (range 'a) => number
    (range inf) => finite
    (range 0 1e12) => too long
    (to_list 3) => list
    (to_array (dict)) => list | dictionary
    (to_vector (list 'a)) => vector of numbers
    (vector 1 'a) => number
    (fill -1 0) => length
    (zeros 1e15) => length | 1000000000000000
    (ones 'a) => number
    (linspace 0 1 2.5) => length
    (arange 0 1 0) => step other than 0
    (arange 0 1 1e-12) => too long
    (sum 3) => vector of numbers
    (sum (list 'a)) => vector of numbers
    (mean (list)) => at least one number
    (dot (vector 1) (vector 1 2)) => dimension | 1 | 2
    (scale_vector (vector 1) (vector 1)) => number
    (vector_add (vector 1) (list)) => dimension | 1 | 0
    (simplex 0.5 0.6) => sum to 1
    (simplex -0.5 1.5) => sum to 1
    (simplex nan 1) => sum to 1
    (normalize (vector 1 -1)) => sum
    (normalize (list)) => sum
    (matrix (list (list 1 2) (list 3))) => rectangular | row 1 has 1
    (matrix (list 1 2)) => rectangular | rows
    (matrix (list (list 1 'a))) => rectangular | numbers
    (matrix 3) => list
    (id_matrix -1) => length
    (zero_matrix 1e6 1e6) => too large
    (ravel (vector 1)) => a matrix
    (row (id_matrix 2) 2) => index 2
    (col (id_matrix 2) -1) => index -1
    (row (list 1) 0) => a matrix
    (matrix_add (id_matrix 2) (zero_matrix 2 3)) => dimension | 2 x 2 | 2 x 3
    (matrix_mul (zero_matrix 2 3) (zero_matrix 2 3)) => dimension | 2 x 3
    (matrix_times_vector (id_matrix 2) (vector 1)) => dimension | 2 x 2 | 1
    (vector_times_matrix (vector 1) (id_matrix 2)) => dimension | 2 x 2 | 1
    (scale_matrix 'a (id_matrix 2)) => number
    (matrix_inverse (zero_matrix 2 3)) => dimension | 2 x 3
    (matrix_inverse (zero_matrix 2)) => an invertible matrix
    (matrix_inverse (matrix (list (list 0.1 0.2) (list 0.3 0.6)))) => an invertible matrix
    (matrix_inverse (matrix (list (list 1 2 3) (list 4 5 6) (list 7 8 9)))) => an invertible matrix
    (matrix_inverse (matrix (list (list nan 0) (list 0 1)))) => an invertible matrix
    (matrix_solve (id_matrix 2) (vector 1 2 3)) => dimension | 2 x 2 | 3
    (matrix_solve (id_matrix 2) (id_matrix 3)) => dimension | 2 x 2 | 3 x 3
    (matrix_solve (zero_matrix 2 1) (vector 1 2)) => dimension
    (matrix_solve (matrix (list (list 1 2) (list 2 4))) (vector 1 2)) => an invertible matrix
    (matrix_trace (zero_matrix 2 3)) => dimension | 2 x 3
    (cholesky (zero_matrix 2 3)) => dimension
    (cholesky (matrix (list (list 1 2) (list 2 1)))) => positive definite
    (cholesky (matrix (list (list 1 0.5) (list 0 1)))) => positive definite
    (log_det (zero_matrix 3)) => an invertible matrix
    (log_det (zero_matrix 1 2)) => dimension
    (dict 1) => key | value
    (dict (array 1)) => key | value
    (dict (list 1 2 3) (list 4 5 6)) => key | value
    (keys (list)) => dictionary
    (values 3) => dictionary | number
    (real 'a) => number
    (integer 2.5) => a whole number
    (integer inf) => a whole number
    (probability 1.5) => probability
    (probability -0.1) => probability
    (probability nan) => probability
"#;

#[test]
fn messages_contain_their_words() {
    for (text, words) in cases(MESSAGES) {
        let message = match evaluate(text) {
            Ok(value) => panic!("{text} gives {value}, not an error"),
            Err(error) => error.to_string(),
        };
        for word in words.split(" | ") {
            assert!(message.contains(word), "{text}: {word:?} is not in {message:?}");
        }
    }
}

/// A value outside a domain is a rejection in a proposal; a type or a size that does not fit is
/// a mistake in the program.
#[test]
fn only_domain_errors_reject() {
    let table = "
        (probability 2) => true
        (integer 0.5) => true
        (simplex 0.5 0.6) => true
        (int_div 1 0) => true
        (cholesky (diag_matrix (vector 1 -1))) => true
        (matrix_inverse (zero_matrix 2)) => true
        (first (list)) => false
        (+ 1 'a) => false
        (lookup (list) 0) => false
        (dot (vector 1) (vector)) => false
        (cholesky (zero_matrix 1 2)) => false
    ";
    for (text, rejects) in cases(table) {
        let error = evaluate(text).expect_err(text);
        assert_eq!(error.rejects().to_string(), rejects, "{text}");
    }
}

#[test]
fn errors_point_at_the_argument() {
    let table = "
        (+ 1 2 'a) => 2
        (- 'a 1) => 0
        (- 'a) => 0
        (/ (vector 1) 'a) => 1
        (/ 'a (vector 1)) => 0
        (< 1 2 'a) => 2
        (take 'a (list 1)) => 0
        (take 1 'a) => 1
        (append (list 1) 'a (list)) => 1
        (vector 1 2 'a) => 2
        (scale_matrix 'a (id_matrix 1)) => 0
        (scale_vector 2 'a) => 1
        (scale_vector 'a 2) => 0
        (dict (array 1 2) 3) => 1
    ";
    for (text, argument) in cases(table) {
        let error = evaluate(text).expect_err(text);
        assert_eq!(error.argument(), argument.parse().ok(), "{text}");
    }
}
