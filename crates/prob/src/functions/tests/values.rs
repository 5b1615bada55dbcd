//! Value in, value out: every function has at least three cases here, compared in print.

use std::sync::Arc;

use smidgen_value::Value;

use super::{call, cases, eval, tokens};
use crate::functions::ALL;

const ARITHMETIC: &str = "
    (+) => 0
    (+ 5) => 5
    (+ true) => 1
    (+ 1 2) => 3
    (+ 1 true) => 2
    (+ 0.5 1 2 3) => 6.5
    (add 1 inf) => inf
    (+ inf -inf) => NaN
    (+ (vector 1 2) (vector 10 20)) => (vector 11 22)
    (+ (vector 1 2) 1) => (vector 2 3)
    (+ 1 (vector 1 2) true) => (vector 3 4)
    (+ (vector)) => (vector)
    (- 5) => -5
    (- 5 7) => -2
    (sub true 1) => 0
    (- (vector 1 -2)) => (vector -1 2)
    (- 1 (vector 1 2)) => (vector 0 -1)
    (- (vector 1 2) 1) => (vector 0 1)
    (*) => 1
    (* 2 3) => 6
    (* 2 3 4 0.5) => 12
    (mul true 3) => 3
    (* 2 (vector 1 2)) => (vector 2 4)
    (* (vector 3 4) (vector 1 2)) => (vector 3 8)
    (* 0 inf) => NaN
    (/ 4) => 0.25
    (/ 1 4) => 0.25
    (/ 1 0) => inf
    (/ 0 0) => NaN
    (div true 2) => 0.5
    (/ (vector 2 4)) => (vector 0.5 0.25)
    (/ (vector 2 4) 2) => (vector 1 2)
    (/ 8 (vector 2 4)) => (vector 4 2)
    (min 3) => 3
    (min 3 1) => 1
    (min 3 true 2) => 1
    (min (list 3 1 2)) => 1
    (min 1 nan) => NaN
    (min nan 1) => NaN
    (max 3) => 3
    (max 3 4) => 4
    (max (vector 3 1 7 2)) => 7
    (max 1 2 nan 3) => NaN
    (abs -3) => 3
    (abs 3) => 3
    (abs -inf) => inf
    (negate 3) => -3
    (negate -inf) => inf
    (negate true) => -1
    (negate (vector 1 -1)) => (vector -1 1)
    (signum -3) => -1
    (signum 0) => 0
    (signum -0.0) => 0
    (signum inf) => 1
    (signum nan) => NaN
    (floor 2.7) => 2
    (floor -2.1) => -3
    (floor -0.0) => 0
    (ceil 2.1) => 3
    (ceil -2.7) => -2
    (ceil -0.5) => 0
    (round 2.5) => 3
    (round -2.5) => -3
    (round 2.4) => 2
    (round -0.4) => 0
    (int_div 7 2) => 3
    (int_div -7 2) => -4
    (int_div 7 -2) => -4
    (int_div 6 3) => 2
    (int_div 0.7 0.1) => 6
    (int_div -1 inf) => -1
    (int_mod 7 2) => 1
    (int_mod -7 3) => 2
    (int_mod 7 -3) => -2
    (int_mod -6 3) => 0
    (int_mod 7.5 2) => 1.5
    (exp 0) => 1
    (exp -inf) => 0
    (exp 1000) => inf
    (expm1 0) => 0
    (expm1 -inf) => -1
    (expm1 1000) => inf
    (log 1) => 0
    (log 0) => -inf
    (log -1) => NaN
    (log1p 0) => 0
    (log1p -1) => -inf
    (log1p -2) => NaN
    (pow 2 10) => 1024
    (pow 2 -1) => 0.5
    (pow 0 0) => 1
    (pow -8 0.5) => NaN
    (square 3) => 9
    (square -0.5) => 0.25
    (square true) => 1
    (sqrt 9) => 3
    (sqrt 0) => 0
    (sqrt -1) => NaN
    (sin 0) => 0
    (sin 1.5707963267948966) => 1
    (sin inf) => NaN
    (cos 0) => 1
    (cos 3.141592653589793) => -1
    (cos nan) => NaN
    (tan 0) => 0
    (round (* 1e9 (tan 0.7853981633974483))) => 1000000000
    (tan inf) => NaN
    (tan true) => 1.5574077246549023
    (atan2 0 1) => 0
    (atan2 1 0) => 1.5707963267948966
    (atan2 0 -1) => 3.141592653589793
    (hypot 3 4) => 5
    (hypot 1e300 0) => 1e300
    (hypot 0 -2) => 2
";

const LINK: &str = "
    (logistic 0) => 0.5
    (logistic 1000) => 1
    (logistic -1000) => 0
    (logistic nan) => NaN
    (logit 0.5) => 0
    (logit 0) => -inf
    (logit 1) => inf
    (logit 1.5) => NaN
    (logit -0.5) => NaN
    (log_logistic 1000) => 0
    (log_logistic -1000) => -1000
    (log_logistic -inf) => -inf
    (logsumexp 3) => 3
    (logsumexp 1000 1000) => 1000.6931471805599
    (logsumexp (list)) => -inf
    (logsumexp -inf -inf) => -inf
    (logsumexp (array 0 nan)) => NaN
    (logsumexp (vector 0 inf)) => inf
    (linear_logistic (vector 0) (vector)) => 0.5
    (linear_logistic (vector -6 1 2) (vector 2 2)) => 0.5
    (linear_logistic (list -3 1) (array 3)) => 0.5
    (linear_logistic (vector 0 1000) (vector 1)) => 1
    (linear_logistic (vector 0 1000) (vector -1)) => 0
";

const COMPARISON: &str = r#"
    (= 1 1.0) => true
    (= 1 true) => true
    (= 1 1 2) => false
    (= 2 2 2) => true
    (= 'a 'a) => true
    (= 'a "a") => false
    (eq (list 1 2) (list 1 2)) => true
    (= nan nan) => true
    (= 0 -0.0) => true
    (!= 1 2) => true
    (!= 1 true) => false
    (neq (vector 1) (vector 2)) => true
    (!= "a" 'a) => true
    (< 1 2) => true
    (< 1 1) => false
    (< 1 2 3) => true
    (< 1 3 2) => false
    (lt false true) => true
    (< "a" "b") => true
    (< 1 nan) => false
    (<= 1 1) => true
    (<= 1 1 0) => false
    (lte "b" "a") => false
    (<= nan nan) => false
    (> 2 1) => true
    (> 3 2 1) => true
    (> 3 2 2) => false
    (gt true false) => true
    (>= 2 2) => true
    (>= 2 2 3) => false
    (gte "b" "b") => true
    (>= nan 1) => false
    (not true) => false
    (not 0) => true
    (not 0.5) => false
    (xor true false) => true
    (xor true true) => false
    (xor 0 2) => true
    (xor false false) => false
    (all_p true 1 2) => true
    (all_p true 0) => false
    (all_p (list)) => true
    (all_p (array true false)) => false
    (all_p (vector 1 1)) => true
    (any_p false 0 1) => true
    (any_p false) => false
    (any_p (list)) => false
    (any_p (vector 0 1)) => true
    (biplex true 1 2) => 1
    (biplex 0 1 'b) => b
    (biplex 0.1 (list 1) 2) => (list 1)
"#;

const LISTS: &str = r#"
    (list) => (list)
    (list 1 'a "t") => (list 1 a "t")
    (list (list 1) true) => (list (list 1) true)
    (pair 1 2) => (list 1 . 2)
    (pair 1 (list)) => (list 1)
    (pair 1 (list 2 3)) => (list 1 2 3)
    (first (list 1 2)) => 1
    (first (pair 1 2)) => 1
    (first (array 'a)) => a
    (first (vector 5 6)) => 5
    (second (list 1 2)) => 2
    (second '(a b c)) => b
    (second (array 1 2 3)) => 2
    (second (vector 5 6)) => 6
    (rest (list 1 2 3)) => (list 2 3)
    (rest (list 1)) => (list)
    (rest (pair 1 2)) => 2
    (rest (array 1 'b)) => (array b)
    (rest (vector 1)) => (vector)
    (append) => (list)
    (append (list 1) (list 2 3) (list) (list 4)) => (list 1 2 3 4)
    (append (list) (array 1)) => (list 1)
    (append (list 1) (vector 2) (list 3)) => (list 1 2 3)
    (append (array 1) (array 'a)) => (array 1 a)
    (append (array 1) (vector 2)) => (array 1 2)
    (append (vector 1) (vector 2 3)) => (vector 1 2 3)
    (append (vector 1) (list 2 true)) => (vector 1 2 1)
    (unique (list 1 2 1 'a 'a)) => (list 1 2 a)
    (unique (array 3 3)) => (array 3)
    (unique (vector 2 1 2)) => (vector 2 1)
    (unique (list)) => (list)
    (reverse (list 1 2 3)) => (list 3 2 1)
    (reverse (list)) => (list)
    (reverse (array 'a 1)) => (array 1 a)
    (reverse (vector 1 2)) => (vector 2 1)
    (sort (list 3 1 2)) => (list 1 2 3)
    (sort (vector 2 -1)) => (vector -1 2)
    (sort (list)) => (list)
    (take 2 (list 1 2 3)) => (list 1 2)
    (take (list 1 2 3) 1) => (list 1)
    (take 5 (array 1 2)) => (array 1 2)
    (take 0 (vector 1 2)) => (vector)
    (take 1 (list)) => (list)
    (zip (list 1 2) (list 'a 'b)) => (list (list 1 a) (list 2 b))
    (zip (list 1 2) (list)) => (list)
    (zip (vector 1 2) (array 3 4 5)) => (list (list 1 3) (list 2 4))
    (zip (list 1) (list 2) (list 3)) => (list (list 1 2 3))
    (size (list 1 2)) => 2
    (size (list)) => 0
    (size (array 1 'a 2)) => 3
    (size (vector 1)) => 1
    (size (zero_matrix 4 2)) => 4
    (size (dict (array 'a 1))) => 1
    (size "grün") => 4
    (is_empty (list)) => true
    (is_empty (list 1)) => false
    (is_empty (pair 1 2)) => false
    (is_empty (vector)) => true
    (is_empty (dict)) => true
    (is_empty (array 0)) => false
    (lookup (list 10 20 30) 2) => 30
    (lookup (array 10 'b) 1) => b
    (lookup (vector 10 20) 0) => 10
    (lookup (vector 10 20) true) => 20
    (lookup (matrix (list (list 1 2) (list 3 4))) 1) => (vector 3 4)
    (lookup (dict (array 'a 1) (array 2 'two)) 2.0) => two
    (lookup (dict (array (list 1 2) 'x)) (list 1 2)) => x
    (contains (list 1 2) 2) => true
    (contains (list 1 2) 'a) => false
    (contains (array 1 true) 1) => true
    (contains (vector 1 2) 3) => false
    (contains (vector 1 2) true) => true
    (contains (dict (array 'a 1)) 'a) => true
    (contains (dict (array 'a 1)) 1) => false
    (range 3) => (list 0 1 2)
    (range 0 3) => (list 0 1 2)
    (range 2 5) => (list 2 3 4)
    (range 3 3) => (list)
    (range 3 1) => (list)
    (range 0 2.5) => (list 0 1 2)
    (array) => (array)
    (array 1 'a) => (array 1 a)
    (array (vector 1)) => (array (vector 1))
    (to_list (array 1 'a)) => (list 1 a)
    (to_list (vector 1 2)) => (list 1 2)
    (to_list (list 1)) => (list 1)
    (to_list (id_matrix 2)) => (list (vector 1 0) (vector 0 1))
    (to_array (list 1 'a)) => (array 1 a)
    (to_array (vector 1)) => (array 1)
    (to_array (array 1)) => (array 1)
    (to_array (id_matrix 1)) => (array (vector 1))
    (to_vector (list 1 2.5)) => (vector 1 2.5)
    (to_vector (array true)) => (vector 1)
    (to_vector (vector 1)) => (vector 1)
    (to_vector (list)) => (vector)
"#;

const VECTORS: &str = "
    (vector) => (vector)
    (vector 1 2.5) => (vector 1 2.5)
    (vector true inf) => (vector 1 inf)
    (fill 3 0.5) => (vector 0.5 0.5 0.5)
    (fill 2 'a) => (array a a)
    (fill 2 (vector 1)) => (array (vector 1) (vector 1))
    (fill 0 1) => (vector)
    (zeros 2) => (vector 0 0)
    (zeros 0) => (vector)
    (zeros true) => (vector 0)
    (ones 3) => (vector 1 1 1)
    (ones 0) => (vector)
    (ones 1) => (vector 1)
    (linspace 0 1 5) => (vector 0 0.25 0.5 0.75 1)
    (linspace 1 0 3) => (vector 1 0.5 0)
    (linspace 2 3 1) => (vector 2)
    (linspace 2 3 0) => (vector)
    (lookup (linspace 0 0.3 4) 3) => 0.3
    (arange 3) => (vector 0 1 2)
    (arange 2 4) => (vector 2 3)
    (arange 0 1 0.25) => (vector 0 0.25 0.5 0.75)
    (arange 3 0 -1) => (vector 3 2 1)
    (arange 0 3 -1) => (vector)
    (sum (list 1 2 3)) => 6
    (sum (list)) => 0
    (sum (array true 0.5)) => 1.5
    (sum (vector 1 inf)) => inf
    (prod (list 2 3 4)) => 24
    (prod (vector)) => 1
    (prod (array true 0.5)) => 0.5
    (mean (list 1 2 6)) => 3
    (mean (vector 4)) => 4
    (mean (array true false)) => 0.5
    (dot (vector 1 2) (vector 3 4)) => 11
    (dot (vector) (list)) => 0
    (dot (arange 20) (ones 20)) => 190
    (dot (list 1 true) (array 2 3)) => 5
    (scale_vector 2 (vector 1 2)) => (vector 2 4)
    (scale_vector (vector 1 2) 3) => (vector 3 6)
    (scale_vector 0.5 (list 2)) => (vector 1)
    (vector_add (vector 1 2) (vector 3 4)) => (vector 4 6)
    (vector_add (list 1) (array true)) => (vector 2)
    (vector_add (vector) (vector)) => (vector)
    (simplex 1) => (vector 1)
    (simplex 0.25 0.25 0.5) => (vector 0.25 0.25 0.5)
    (simplex (list 0 1)) => (vector 0 1)
    (simplex 0.1 0.2 0.3 0.4) => (vector 0.1 0.2 0.3 0.4)
    (normalize (vector 1 1 2)) => (vector 0.25 0.25 0.5)
    (normalize (list 5)) => (vector 1)
    (normalize (array true 0)) => (vector 1 0)
";

const MATRIX: &str = "
    (matrix (list (list 1 2) (list 3 4))) => (matrix (list (list 1 2) (list 3 4)))
    (matrix (array (vector 1 2 3))) => (matrix (list (list 1 2 3)))
    (matrix (list)) => (matrix (list))
    (matrix (id_matrix 1)) => (matrix (list (list 1)))
    (id_matrix 2) => (matrix (list (list 1 0) (list 0 1)))
    (id_matrix 1) => (matrix (list (list 1)))
    (id_matrix 0) => (matrix (list))
    (zero_matrix 2) => (matrix (list (list 0 0) (list 0 0)))
    (zero_matrix 1 3) => (matrix (list (list 0 0 0)))
    (zero_matrix 0) => (matrix (list))
    (diag_matrix (vector 1 2)) => (matrix (list (list 1 0) (list 0 2)))
    (diag_matrix (list 3)) => (matrix (list (list 3)))
    (diag_matrix (vector)) => (matrix (list))
    (ravel (matrix (list (list 1 2) (list 3 4)))) => (vector 1 2 3 4)
    (ravel (id_matrix 0)) => (vector)
    (ravel (matrix (list (list 1) (list 2)))) => (vector 1 2)
    (row (matrix (list (list 1 2) (list 3 4))) 0) => (vector 1 2)
    (row (matrix (list (list 1 2) (list 3 4))) 1) => (vector 3 4)
    (row (zero_matrix 1 3) 0) => (vector 0 0 0)
    (col (matrix (list (list 1 2) (list 3 4))) 0) => (vector 1 3)
    (col (matrix (list (list 1 2) (list 3 4))) 1) => (vector 2 4)
    (col (zero_matrix 1 3) 2) => (vector 0)
    (transpose (matrix (list (list 1 2) (list 3 4)))) => (matrix (list (list 1 3) (list 2 4)))
    (transpose (matrix (list (list 1 2)))) => (matrix (list (list 1) (list 2)))
    (transpose (id_matrix 0)) => (matrix (list))
    (matrix_add (id_matrix 2) (matrix (list (list 1 2) (list 3 4)))) => (matrix (list (list 2 2) (list 3 5)))
    (matrix_add (zero_matrix 1 2) (matrix (list (list 1 2)))) => (matrix (list (list 1 2)))
    (matrix_add (id_matrix 0) (id_matrix 0)) => (matrix (list))
    (matrix_mul (matrix (list (list 1 2) (list 3 4))) (matrix (list (list 5 6) (list 7 8)))) => (matrix (list (list 19 22) (list 43 50)))
    (matrix_mul (matrix (list (list 1 2))) (matrix (list (list 3) (list 4)))) => (matrix (list (list 11)))
    (matrix_mul (zero_matrix 2 0) (zero_matrix 0 1)) => (matrix (list (list 0) (list 0)))
    (matrix_times_vector (matrix (list (list 1 2) (list 3 4))) (vector 1 10)) => (vector 21 43)
    (matrix_times_vector (matrix (list (list 1 2))) (list 3 4)) => (vector 11)
    (matrix_times_vector (zero_matrix 2 0) (vector)) => (vector 0 0)
    (vector_times_matrix (vector 1 10) (matrix (list (list 1 2) (list 3 4)))) => (vector 31 42)
    (vector_times_matrix (list 2) (matrix (list (list 1 2)))) => (vector 2 4)
    (vector_times_matrix (vector) (zero_matrix 0 0)) => (vector)
    (scale_matrix 2 (id_matrix 2)) => (matrix (list (list 2 0) (list 0 2)))
    (scale_matrix (matrix (list (list 1 2))) 3) => (matrix (list (list 3 6)))
    (scale_matrix 0 (id_matrix 1)) => (matrix (list (list 0)))
    (matrix_inverse (diag_matrix (vector 2 4))) => (matrix (list (list 0.5 0) (list 0 0.25)))
    (matrix_inverse (matrix (list (list 0 1) (list 1 0)))) => (matrix (list (list 0 1) (list 1 0)))
    (matrix_inverse (diag_matrix (vector 1 1e-200))) => (matrix (list (list 1 0) (list 0 1e200)))
    (matrix_inverse (id_matrix 0)) => (matrix (list))
    (matrix_solve (diag_matrix (vector 2 4)) (vector 1 1)) => (vector 0.5 0.25)
    (matrix_solve (matrix (list (list 0 2) (list 1 1))) (list 4 5)) => (vector 3 2)
    (matrix_solve (diag_matrix (vector 2 4)) (id_matrix 2)) => (matrix (list (list 0.5 0) (list 0 0.25)))
    (matrix_solve (diag_matrix (vector 2 4)) (matrix (list (list 2) (list 2)))) => (matrix (list (list 1) (list 0.5)))
    (matrix_trace (matrix (list (list 1 2) (list 3 4)))) => 5
    (matrix_trace (id_matrix 7)) => 7
    (matrix_trace (id_matrix 0)) => 0
    (cholesky (diag_matrix (vector 4 9))) => (matrix (list (list 2 0) (list 0 3)))
    (cholesky (matrix (list (list 4 2) (list 2 2)))) => (matrix (list (list 2 0) (list 1 1)))
    (cholesky (id_matrix 1)) => (matrix (list (list 1)))
    (log_det (id_matrix 3)) => 0
    (log_det (id_matrix 0)) => 0
    (log_det (matrix (list (list 0 1) (list 1 0)))) => 0
    (log_det (diag_matrix (vector 1 -1))) => 0
    (cov_exp_quad (vector 3) 2 1) => (matrix (list (list 4)))
    (cov_exp_quad (vector 0 0) 1 1) => (matrix (list (list 1 1) (list 1 1)))
    (cov_exp_quad (vector 0 1e9) (vector 0) 3 1) => (matrix (list (list 9) (list 0)))
    (cov_matern32 (vector 3) 2 1) => (matrix (list (list 4)))
    (cov_matern32 (vector 0 0) 1 1) => (matrix (list (list 1 1) (list 1 1)))
    (cov_matern32 (vector 0 1e9) (vector 0) 3 1) => (matrix (list (list 9) (list 0)))
    (cov_matern52 (vector 3) 2 1) => (matrix (list (list 4)))
    (cov_matern52 (vector 0 0) 1 1) => (matrix (list (list 1 1) (list 1 1)))
    (cov_matern52 (vector 0 1e9) (vector 0) 3 1) => (matrix (list (list 9) (list 0)))
    (cov_periodic (vector 3) 2 1 5) => (matrix (list (list 4)))
    (cov_periodic (vector 0 0) 1 1 2) => (matrix (list (list 1 1) (list 1 1)))
    (cov_periodic (matrix (list (list 1 2))) (matrix (list (list 1 2))) 3 1 7) => (matrix (list (list 9)))
";

const DICT: &str = r#"
    (dict) => (dict)
    (dict (array 'a 1) (list "b" 2)) => (dict (array a 1) (array "b" 2))
    (dict (array 1 'a) (array true 'b)) => (dict (array 1 b))
    (dict (vector 1 2)) => (dict (array 1 2))
    (keys (dict)) => (list)
    (keys (dict (array 'b 1) (array 'a 2))) => (list b a)
    (keys (dict (array (list 1) 1))) => (list (list 1))
    (values (dict)) => (list)
    (values (dict (array 'b 1) (array 'a 2))) => (list 1 2)
    (values (dict (array 'b 1) (array 'b 2))) => (list 2)
"#;

const TYPES: &str = r#"
    (is_number 3.5) => true
    (is_number true) => false
    (is_number "3") => false
    (is_integer 3) => true
    (is_integer 3.5) => false
    (is_integer inf) => false
    (is_integer 'a) => false
    (is_boolean true) => true
    (is_boolean 1) => false
    (is_boolean (list)) => false
    (is_symbol 'a) => true
    (is_symbol "a") => false
    (is_symbol '(a)) => false
    (is_string "a") => true
    (is_string 'a) => false
    (is_string 1) => false
    (is_procedure +) => true
    (is_procedure '+) => false
    (is_procedure (get_empty_environment)) => false
    (is_pair (list 1)) => true
    (is_pair (pair 1 2)) => true
    (is_pair (list)) => false
    (is_pair (array 1)) => false
    (is_list (list)) => true
    (is_list (list 1 2)) => true
    (is_list (pair 1 2)) => false
    (is_list (array 1)) => false
    (is_array (array)) => true
    (is_array (vector)) => false
    (is_array (list 1)) => false
    (is_vector (vector)) => true
    (is_vector (array 1)) => false
    (is_vector (id_matrix 1)) => false
    (is_matrix (id_matrix 1)) => true
    (is_matrix (vector 1)) => false
    (is_matrix (list (list 1))) => false
    (is_dict (dict)) => true
    (is_dict (array)) => false
    (is_dict (list)) => false
    (is_environment (get_empty_environment)) => true
    (is_environment +) => false
    (is_environment (dict)) => false
    (real 2.5) => 2.5
    (real true) => 1
    (real nan) => NaN
    (integer 3) => 3
    (integer false) => 0
    (integer -4.0) => -4
    (probability 0.5) => 0.5
    (probability true) => 1
    (probability 0) => 0
"#;

const LAWS: &str = "
    (log_density bernoulli 1 1) => 0
    (log_density normal inf 0 1) => -inf
    (log_density flat 3) => 0
    (cdf expon -1 2) => 0
    (cdf uniform_continuous 7 0 1) => 1
    (cdf bernoulli 3 0.25) => 1
    (ccdf expon -1 2) => 1
    (ccdf uniform_continuous 7 0 1) => 0
    (ccdf bernoulli 3 0.25) => 0
    (log_cdf expon -1 2) => -inf
    (log_cdf uniform_continuous 7 0 1) => 0
    (log_cdf poisson -1 0.25) => -inf
    (log_ccdf expon -1 2) => 0
    (log_ccdf uniform_continuous 7 0 1) => -inf
    (log_ccdf poisson -1 0.25) => 0
    (quantile bernoulli 0.5 0.25) => 0
    (quantile bernoulli 0.9 0.25) => 1
    (quantile binomial 1 3 0.5) => 3
";

const TABLES: &[&str] = &[ARITHMETIC, LINK, COMPARISON, LISTS, VECTORS, MATRIX, DICT, TYPES, LAWS];

#[test]
fn functions_return_what_the_tables_say() {
    for (text, expected) in TABLES.iter().flat_map(|table| cases(table)) {
        assert_eq!(eval(text).to_string(), expected, "{text}");
    }
}

#[test]
fn every_function_has_at_least_three_cases() {
    let operators: Vec<String> = TABLES
        .iter()
        .flat_map(|table| cases(table))
        .map(|(text, _)| tokens(text)[1].clone())
        .collect();
    for spec in ALL.iter().flat_map(|family| family.iter()).map(|f| f.spec) {
        let is_called = |name: &String| name == spec.name || spec.aliases.contains(&name.as_str());
        let n = operators.iter().filter(|name| is_called(name)).count();
        assert!(n >= 3, "{} has {n} cases", spec.name);
    }
}

#[test]
fn every_example_runs_and_names_its_function() {
    for spec in ALL.iter().flat_map(|family| family.iter()).map(|f| f.spec) {
        eval(spec.example);
        assert_eq!(tokens(spec.example)[1], spec.name, "{}", spec.example);
    }
}

#[test]
fn rest_and_append_share_their_lists() {
    let tail = |list: &Value| match list {
        Value::Pair(pair) => match &pair.rest {
            Value::Pair(link) => Arc::as_ptr(link),
            _ => panic!("two elements"),
        },
        _ => panic!("a list"),
    };
    let list = eval("(list 1 2 3)");
    let Value::Pair(rest) = call("rest", std::slice::from_ref(&list)).unwrap() else {
        panic!("the rest is a list");
    };
    assert_eq!(Arc::as_ptr(&rest), tail(&list));
    let joined = call("append", &[eval("(list 0)"), list.clone()]).unwrap();
    let Value::Pair(link) = &list else { panic!("a list") };
    assert_eq!(tail(&joined), Arc::as_ptr(link));
}

#[test]
fn long_lists_are_walked_in_loops() {
    // A small stack: a recursion over the elements would not fit.
    let walk = || {
        let n = 100_000.0;
        let long = call("range", &[n.into()]).unwrap();
        let one = |name: &str| call(name, std::slice::from_ref(&long)).unwrap();
        let two = |name: &str, x: Value| call(name, &[long.clone(), x]).unwrap();
        assert_eq!(one("size"), n.into());
        assert_eq!(one("sum"), (n * (n - 1.0) / 2.0).into());
        assert_eq!(one("max"), (n - 1.0).into());
        assert_eq!(one("is_list"), Value::TRUE);
        assert_eq!(call("first", &[one("reverse")]).unwrap(), (n - 1.0).into());
        assert_eq!(two("lookup", (n - 1.0).into()), (n - 1.0).into());
        assert_eq!(two("contains", (-1.0).into()), Value::FALSE);
        assert_eq!(call("size", &[two("append", long.clone())]).unwrap(), (2.0 * n).into());
        assert_eq!(call("size", &[two("zip", long.clone())]).unwrap(), n.into());
        assert_eq!(two("take", n.into()), long);
        assert_eq!(two("=", call("to_list", &[one("to_array")]).unwrap()), Value::TRUE);
        assert_eq!(one("all_p"), Value::FALSE);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(walk).unwrap().join().unwrap();
}
