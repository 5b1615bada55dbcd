//! Small programs with finitely many states, for exact transition matrices.

use std::collections::BTreeMap;

use smidgen_value::Value;

use crate::enumerate::{Name, by_values};

pub struct Case {
    pub name: &'static str,
    pub text: &'static str,
    /// How many there are.
    pub states: usize,
    pub state_name: Name,
}

const fn case(name: &'static str, states: usize, text: &'static str) -> Case {
    Case { name, text, states, state_name: by_values }
}

/// What is predicted tells the states apart.
pub static CASES: &[Case] = &[
    case("coins", 4, "[assume a (flip 0.3)] [assume b (flip 0.6)] [predict a] [predict b]"),
    case(
        "sprinkler",
        4,
        "[assume rain (flip 0.2)]
         [assume sprinkler (flip (if rain 0.01 0.4))]
         [observe (flip (if rain (if sprinkler 0.99 0.8) (if sprinkler 0.9 0.05))) true]
         [predict rain] [predict sprinkler]",
    ),
    case(
        "nested branches",
        5,
        "[assume x (if (flip 0.3) (if (flip 0.6) (list 1 (flip 0.2)) (list 2)) (list 0 (flip 0.7)))]
         [observe (flip (if (= (first x) 1) 0.9 0.2)) true]
         [predict x]",
    ),
    case(
        "recursion of bounded depth",
        4,
        "[assume geo (lambda () (if (flip 0.5) 0 (+ 1 (geo))))]
         [assume n (geo)]
         [observe (flip (if (< n 4) (/ 1 (+ n 2)) 0)) true]
         [predict n]",
    ),
    case(
        "mem with a random key",
        4,
        "[assume m (mem (lambda (k) (flip (if (= k 0) 0.2 0.7))))]
         [assume k (if (flip 0.4) 1 0)]
         [observe (flip (if (m k) 0.8 0.3)) true]
         [predict k] [predict (m k)]",
    ),
    case(
        "two keys that may meet",
        12,
        "[assume m (mem (lambda (k) (flip (if (= k 0) 0.2 0.7))))]
         [assume j (if (flip 0.4) 1 0)]
         [assume k (if (flip 0.7) 1 0)]
         [observe (flip (if (m j) 0.8 0.3)) true]
         [observe (flip (if (m k) 0.1 0.6)) false]
         [predict j] [predict k] [predict (m j)] [predict (m k)]",
    ),
    case(
        "an observation that moves between two choices",
        4,
        "[assume c (flip 0.4)] [assume x (flip 0.3)] [assume y (flip 0.8)]
         [observe (if c x y) true]
         [observe (flip (if x 0.9 0.2)) true]
         [predict c] [predict x] [predict y]",
    ),
    case(
        "an observation by a random key",
        4,
        "[assume m (mem (lambda (i) (flip (if (= i 0) 0.3 0.6))))]
         [assume k (if (flip 0.4) 1 0)]
         [predict k] [predict (m 0)] [predict (m 1)]
         [observe (m k) true]",
    ),
    case(
        "two observations that may not meet",
        6,
        "[assume m (mem (lambda (i) (flip (/ (+ i 1) 5))))]
         [assume j (uniform_discrete 0 3)] [assume k (uniform_discrete 0 3)]
         [force j 0] [force k 1]
         [observe (m j) true] [observe (m k) false]
         [predict j] [predict k]",
    ),
    case(
        "two observations that may not meet, one in a branch of the other",
        6,
        "[assume m (mem (lambda (i) (flip (/ (+ i 1) 5))))]
         [assume j (uniform_discrete 0 3)] [assume k (uniform_discrete 0 3)]
         [force j 0] [force k 1]
         [assume w (m k)] [assume v (m j)]
         [observe v false] [observe (if v true w) true]
         [predict j] [predict k]",
    ),
    case(
        "an observation whose choices have the same procedure",
        4,
        "[assume f (make_beta_bernoulli 1 2)]
         [assume c (flip 0.4)] [assume x (f)] [assume y (f)]
         [observe (if c x y) true]
         [observe (flip (if x 0.9 0.2)) true] [observe (f) true]
         [predict c] [predict x] [predict y]",
    ),
    case(
        "an application observed in a branch",
        8,
        "[assume a (if (flip 0.5) 1 4)]
         [assume f (make_beta_bernoulli a 2)]
         [assume c (flip 0.4)] [assume x (f)]
         [observe (if c (f) (flip (if x 0.3 0.9))) true]
         [predict a] [predict c] [predict x]",
    ),
    case(
        "a parameter that decides how many applications there are",
        6,
        "[assume a (flip 0.5)]
         [assume f (make_beta_bernoulli (if a 1 3) 2)]
         [assume x (if a (list (f) (f)) (list (f)))]
         [observe (flip (if (first x) 0.9 0.2)) true] [observe (f) true]
         [predict a] [predict x]",
    ),
    case(
        "a maker in a branch",
        6,
        "[assume c (flip 0.4)]
         [assume x (if c (let ((f (make_beta_bernoulli 1 2))) (list (f) (f))) (list (flip 0.2)))]
         [observe (flip (if (first x) 0.9 0.2)) true]
         [predict c] [predict x]",
    ),
    case(
        "memoised procedures that call each other",
        16,
        "[assume group (mem (lambda (g) (flip 0.3)))]
         [assume item (mem (lambda (i) (list i (group (if (= i 0) 0 1)) (flip (if (group (if (= i 0) 0 1)) 0.2 0.9)))))]
         [assume k (uniform_discrete 0 3)]
         [assume x (item k)] [assume y (group 1)]
         [observe (flip (if (lookup x 2) 0.8 0.3)) true]
         [predict k] [predict x] [predict y]",
    ),
    case(
        "a chain of random length",
        14,
        "[assume state (mem (lambda (t) (if (= t 0) (flip 0.5) (flip (if (state (- t 1)) 0.8 0.3)))))]
         [assume n (uniform_discrete 0 3)]
         [assume path (map state (cond ((= n 0) (list 0)) ((= n 1) (list 1 0)) (else (list 2 1 0))))]
         [observe (flip (if (first path) 0.9 0.2)) true]
         [predict n] [predict path]",
    ),
    case(
        "an observation of a fresh choice in a branch",
        4,
        "[assume c (flip 0.4)] [assume d (flip 0.7)]
         [observe (if c (flip (if d 0.2 0.5)) (flip 0.7)) true]
         [predict c] [predict d]",
    ),
    case(
        "a collapsed coin with a random parameter",
        8,
        "[assume a (if (flip 0.5) 1 4)]
         [assume f (make_beta_bernoulli a 2)]
         [assume d (f)] [assume e (f)]
         [observe (f) true]
         [observe (flip (if d 0.9 0.2)) true]
         [predict a] [predict d] [predict e]",
    ),
    case(
        "applications that come and go",
        12,
        "[assume a (if (flip 0.5) 1 3)]
         [assume f (make_beta_bernoulli a 2)]
         [assume x (if (flip 0.4) (list (f) (f)) (list (f)))]
         [observe (flip (if (first x) 0.9 0.2)) true]
         [observe (f) true]
         [predict a] [predict x]",
    ),
    case(
        "a random procedure",
        5,
        "[assume f (lambda (p) (list 0 (flip p)))]
         [assume g (lambda (p) (if (flip 0.5) (list 1 (flip p)) (list 2)))]
         [assume x ((if (flip 0.3) f g) 0.4)]
         [observe (flip (/ (+ 1 (first x)) 4)) true]
         [predict x]",
    ),
    Case {
        name: "restaurant",
        text: "[assume alpha (if (flip 0.3) 0.5 2)]
               [assume seat (make_crp alpha)]
               [assume dish (mem (lambda (table) (flip 0.3)))]
               [assume a (seat)] [assume b (seat)] [assume c (seat)]
               [observe (flip (if (dish a) 0.9 0.2)) true]
               [observe (flip (if (dish b) 0.8 0.1)) true]
               [observe (flip (if (dish c) 0.7 0.4)) false]
               [predict a] [predict b] [predict c]
               [predict (dish a)] [predict (dish b)] [predict (dish c)] [predict alpha]",
        states: 44,
        state_name: by_partition,
    },
];

/// Labels of tables are names: only who sits with whom matters.
pub fn by_partition(values: &[Value]) -> String {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let seats = values[..3].iter().map(|table| {
        let next = names.len();
        Value::Number(*names.entry(table.to_string()).or_insert(next) as f64)
    });
    by_values(&seats.chain(values[3..].iter().cloned()).collect::<Vec<_>>())
}

/// Blocks of a scope come and go with the number of items.
pub static SCOPED: &[Case] = &[
    case(
        "items come and go",
        6,
        "[assume n (scope_include 'items 0 (if (flip 0.3) 2 1))]
         [assume x (mem (lambda (i) (scope_include 'items i (flip 0.4))))]
         [assume xs (if (= n 1) (list (x 1)) (list (x 1) (x 2)))]
         [observe (flip (if (x 1) 0.8 (/ n 5))) true]
         [predict n] [predict xs]",
    ),
    case(
        "a choice that changes its block",
        4,
        "[assume k (scope_include 'items 0 (flip 0.3))]
         [assume x (scope_include 'items (if k 1 0) (flip 0.4))]
         [observe (flip (if x 0.8 0.3)) true]
         [predict k] [predict x]",
    ),
    case(
        "blocks of two choices",
        8,
        "[assume x (scope_include 'items 0 (list (flip 0.3) (flip 0.6)))]
         [assume y (scope_include 'items 1 (flip (if (first x) 0.3 0.8)))]
         [observe (flip (if y 0.8 0.3)) true]
         [predict x] [predict y]",
    ),
];
