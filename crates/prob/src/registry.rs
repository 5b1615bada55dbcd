//! Name to procedure: the one list from which the evaluator, `smidgen help NAME` and the
//! reference table are made.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smidgen_value::Symbol;

use crate::procedure::{Arity, Distribution, Function, Maker, Spec};
use crate::{collapsed, distributions, functions};

#[derive(Clone, Copy)]
pub enum Builtin {
    Function(&'static Function),
    Distribution(&'static dyn Distribution),
    Maker(&'static dyn Maker),
    /// A procedure that calls procedures or opens environments: the engine's business.
    HigherOrder(HigherOrder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HigherOrder {
    Mem,
    Map,
    MapVector,
    Filter,
    Fold,
    Apply,
    BuildMatrix,
    Eval,
    ExtendEnvironment,
    EmptyEnvironment,
}

/// The higher-order procedures in the order of the documentation.
pub static HIGHER_ORDER: &[(HigherOrder, Spec)] = &[
    (
        HigherOrder::Mem,
        Spec {
            name: "mem",
            aliases: &[],
            parameters: "f",
            arity: Arity::exactly(1),
            summary: "The procedure f, memoised by the values of its arguments",
            example: "((mem (lambda (i) (normal 0 1))) 3)",
        },
    ),
    (
        HigherOrder::Map,
        Spec {
            name: "map",
            aliases: &[],
            parameters: "f xs ...",
            arity: Arity::at_least(2),
            summary: "The list of f applied to each element (of several lists: in step)",
            example: "(map (lambda (x) (* x x)) (list 1 2 3))",
        },
    ),
    (
        HigherOrder::MapVector,
        Spec {
            name: "mapv",
            aliases: &[],
            parameters: "f xs ...",
            arity: Arity::at_least(2),
            summary: "As map, giving an array",
            example: "(mapv (lambda (x) (* x x)) (array 1 2 3))",
        },
    ),
    (
        HigherOrder::Filter,
        Spec {
            name: "filter",
            aliases: &[],
            parameters: "f xs",
            arity: Arity::exactly(2),
            summary: "The elements for which f is true, in a list, array or vector as xs is one",
            example: "(filter (lambda (x) (> x 1)) (list 1 2 3))",
        },
    ),
    (
        HigherOrder::Fold,
        Spec {
            name: "fold",
            aliases: &["reduce"],
            parameters: "f start xs",
            arity: Arity::exactly(3),
            summary: "f applied from the left: (f (f start x0) x1) and so on",
            example: "(fold (lambda (total x) (+ total x)) 0 (list 1 2 3))",
        },
    ),
    (
        HigherOrder::Apply,
        Spec {
            name: "apply",
            aliases: &[],
            parameters: "f args",
            arity: Arity::exactly(2),
            summary: "f applied to the elements of a list or array",
            example: "(apply + (list 1 2 3))",
        },
    ),
    (
        HigherOrder::BuildMatrix,
        Spec {
            name: "build_matrix",
            aliases: &[],
            parameters: "n m f",
            arity: Arity::exactly(3),
            summary: "The n x m matrix with entries (f i j), counted from 0",
            example: "(build_matrix 2 2 (lambda (i j) (+ i j)))",
        },
    ),
    (
        HigherOrder::Eval,
        Spec {
            name: "eval",
            aliases: &[],
            parameters: "expression environment",
            arity: Arity::exactly(2),
            summary: "The value of a quoted expression in an environment",
            example: "(eval '(+ 1 2) (get_current_environment))",
        },
    ),
    (
        HigherOrder::ExtendEnvironment,
        Spec {
            name: "extend_environment",
            aliases: &[],
            parameters: "environment name value",
            arity: Arity::exactly(3),
            summary: "The environment with one more name",
            example: "(eval 'x (extend_environment (get_empty_environment) 'x 3))",
        },
    ),
    (
        HigherOrder::EmptyEnvironment,
        Spec {
            name: "get_empty_environment",
            aliases: &[],
            parameters: "",
            arity: Arity::exactly(0),
            summary: "The environment of the built-in procedures alone",
            example: "(eval '(+ 1 2) (get_empty_environment))",
        },
    ),
];

impl Builtin {
    pub fn spec(&self) -> &'static Spec {
        match self {
            Builtin::Function(function) => &function.spec,
            Builtin::Distribution(distribution) => distribution.spec(),
            Builtin::Maker(maker) => maker.spec(),
            Builtin::HigherOrder(which) => {
                let entry = HIGHER_ORDER.iter().find(|(w, _)| w == which);
                &entry.expect("every higher-order procedure is in the table").1
            }
        }
    }
}

/// Every procedure once, in the order of the documentation.
pub fn all() -> impl Iterator<Item = Builtin> {
    let distributions = distributions::ALL.iter().map(|d| Builtin::Distribution(*d));
    let makers = collapsed::ALL.iter().map(|m| Builtin::Maker(*m));
    let functions = functions::ALL.iter().flat_map(|family| family.iter()).map(Builtin::Function);
    let higher_order = HIGHER_ORDER.iter().map(|(which, _)| Builtin::HigherOrder(*which));
    distributions.chain(makers).chain(functions).chain(higher_order)
}

static BY_NAME: LazyLock<FxHashMap<Symbol, Builtin>> = LazyLock::new(|| {
    let mut by_name = FxHashMap::default();
    for builtin in all() {
        let spec = builtin.spec();
        for name in std::iter::once(&spec.name).chain(spec.aliases) {
            let earlier = by_name.insert(Symbol::new(name), builtin);
            debug_assert!(earlier.is_none(), "two procedures are called {name}");
        }
    }
    by_name
});

/// The procedure of this name or alias.
pub fn lookup(name: Symbol) -> Option<Builtin> {
    BY_NAME.get(&name).copied()
}

/// All names and aliases, sorted: for completion and "did you mean".
pub fn names() -> Vec<&'static str> {
    let spellable = BY_NAME.iter().filter(|(_, builtin)| builtin.spec().is_spellable());
    let mut names: Vec<_> = spellable.map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

/// What other systems and books call our procedures, beyond capitals and underscores.
static ELSEWHERE: &[(&str, &str)] = &[
    ("chol", "cholesky"),
    ("choice", "categorical"),
    ("concat", "append"),
    ("dblexp", "laplace"),
    ("dexp", "expon"),
    ("discreteuniform", "uniform_discrete"),
    ("dnorm", "normal"),
    ("doubleexponential", "laplace"),
    ("expit", "logistic"),
    ("gaussian", "normal"),
    ("ilogit", "logistic"),
    ("inversegamma", "inv_gamma"),
    ("inversewishart", "inv_wishart"),
    ("inv", "matrix_inverse"),
    ("invlogit", "logistic"),
    ("len", "size"),
    ("length", "size"),
    ("lkjcholeskycov", "lkj_cholesky"),
    ("lkjcorr", "lkj"),
    ("lkjcorrcholesky", "lkj_cholesky"),
    ("ln", "log"),
    ("logpdf", "log_density"),
    ("logpmf", "log_density"),
    ("lpdf", "log_density"),
    ("lpmf", "log_density"),
    ("matmul", "matrix_mul"),
    ("mod", "int_mod"),
    ("multinormal", "multivariate_normal"),
    ("multinormalcholesky", "multivariate_normal_cholesky"),
    ("mvn", "multivariate_normal"),
    ("mvnormal", "multivariate_normal"),
    ("negbinomial", "negative_binomial"),
    ("negbinomial2", "negative_binomial_mean"),
    ("norm", "normal"),
    ("nth", "lookup"),
    ("pdf", "log_density"),
    ("pmf", "log_density"),
    ("power", "pow"),
    ("rand", "uniform_continuous"),
    ("rnorm", "normal"),
    ("sigmoid", "logistic"),
    ("solve", "matrix_solve"),
    ("student", "student_t"),
    ("unif", "uniform_continuous"),
];

/// The name that we have for a procedure of other systems.
pub fn called_elsewhere(name: &str) -> Option<&'static str> {
    let word: String = name.chars().filter(|c| !['_', '-', '.'].contains(c)).collect();
    let word = word.to_lowercase();
    ELSEWHERE.iter().find(|(other, _)| *other == word).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_lead_to_names_that_exist() {
        for (other, name) in ELSEWHERE {
            assert!(lookup(Symbol::new(name)).is_some(), "{other}: {name}");
        }
        assert_eq!(called_elsewhere("neg_binomial_2"), Some("negative_binomial_mean"));
        assert_eq!(called_elsewhere("inv.logit"), Some("logistic"));
        assert_eq!(called_elsewhere("nothing"), None);
    }

    #[test]
    fn names_are_unique_and_documented() {
        let mut seen = std::collections::BTreeSet::new();
        for builtin in all() {
            let spec = builtin.spec();
            for name in std::iter::once(&spec.name).chain(spec.aliases) {
                assert!(seen.insert(*name), "two procedures are called {name}");
            }
            assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'), "{}", spec.name);
            assert!(spec.example.contains(spec.name), "{}: its example shows it", spec.name);
        }
    }
}
