//! The documentation of special forms and directives, one entry each: the source of
//! `smidgen help NAME`, of the shapes that error messages show, and of the lists of known names.

/// One special form or directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub name: &'static str,
    /// How it is written.
    pub shape: &'static str,
    pub summary: &'static str,
    pub example: &'static str,
}

/// The law that `[factor w]` observes: its log density is w. Nobody can write this name.
pub const FACTOR: &str = "[factor]";

/// The entry of a special form or directive.
pub fn find(name: &str) -> Option<&'static Form> {
    special_form(name).or_else(|| directive(name))
}

pub fn special_form(name: &str) -> Option<&'static Form> {
    SPECIAL_FORMS.iter().find(|form| form.name == name)
}

pub fn directive(name: &str) -> Option<&'static Form> {
    DIRECTIVES.iter().find(|form| form.name == name)
}

/// Whether a name always means a special form, unless a procedure or `let` binds it. `column`,
/// `cell`, `rows` and `levels` do so only in front of a table's name.
pub fn is_reserved(name: &str) -> bool {
    special_form(name).is_some() && !matches!(name, "column" | "cell" | "rows" | "levels")
}

pub static SPECIAL_FORMS: &[Form] = &[
    Form {
        name: "lambda",
        shape: "(lambda (name ...) body ...)",
        summary: "a procedure; it remembers the names around it, and its value is that of its \
                  last body",
        example: "[assume twice (lambda (x) (* 2 x))]",
    },
    Form {
        name: "if",
        shape: "(if condition then else)",
        summary: "evaluates one of the two branches; the other does not exist in the trace. \
                  0 and false are false, other numbers and true are true",
        example: "(if (flip 0.3) 1 (gamma 1 1))",
    },
    Form {
        name: "let",
        shape: "(let ((name value) ...) body ...)",
        summary: "names for the body; each value sees the names before it. As a directive, \
                  [let name expr] in a for binds a name for the rest of the round",
        example: "(let ((a 2) (b (* a 3))) (+ a b))",
    },
    Form {
        name: "letrec",
        shape: "(letrec ((name value) ...) body ...)",
        summary: "names for procedures that call each other; a value may use the names only \
                  inside a procedure",
        example: "(letrec ((count (lambda (n) (if (= n 0) 0 (+ 1 (count (- n 1))))))) (count 3))",
    },
    Form {
        name: "cond",
        shape: "(cond (condition value) ... (else value))",
        summary: "the value beside the first condition that is true",
        example: "(cond ((< x 0) -1) ((> x 0) 1) (else 0))",
    },
    Form {
        name: "and",
        shape: "(and e ...)",
        summary: "evaluates from the left up to the first false value; false if there is one, \
                  else the last value; (and) is true",
        example: "(and (> n 0) (< (/ s n) 2))",
    },
    Form {
        name: "or",
        shape: "(or e ...)",
        summary: "evaluates from the left up to the first true value and gives it, else the last \
                  value; (or) is false",
        example: "(or (flip 0.1) (flip 0.2))",
    },
    Form {
        name: "begin",
        shape: "(begin e ...)",
        summary: "evaluates all, gives the last",
        example: "(begin (f 1) (f 2))",
    },
    Form {
        name: "quote",
        shape: "(quote e)",
        summary: "the text of e as data: names become symbols, parentheses lists; 'e for short",
        example: "(scope_include 'weights 0 (normal 0 1))",
    },
    Form {
        name: "scope_include",
        shape: "(scope_include scope block e)",
        summary: "evaluates e; the random choices made on the way belong to that block of that \
                  scope, for inference to address",
        example: "[assume mu (scope_include 'hypers 0 (normal 0 10))]",
    },
    Form {
        name: "scope_exclude",
        shape: "(scope_exclude scope e)",
        summary: "evaluates e; the random choices made on the way do not belong to the scope",
        example: "(scope_exclude 'weights (f x))",
    },
    Form {
        name: "get_current_environment",
        shape: "(get_current_environment)",
        summary: "the names and values visible at this place, for `eval`",
        example: "(eval '(+ 1 2) (get_current_environment))",
    },
    Form {
        name: "column",
        shape: "(column table column)",
        summary: "a whole column of a table as a vector; a constant of the program",
        example: "[observe (multivariate_normal (zeros 11) cov) (column points y)]",
    },
    Form {
        name: "cell",
        shape: "(cell table column index)",
        summary: "one cell of a table, rows counted from 0; a constant of the program",
        example: "(cell points x 3)",
    },
    Form {
        name: "rows",
        shape: "(rows table)",
        summary: "the number of rows of a table; a constant of the program",
        example: "(range 0 (rows points))",
    },
    Form {
        name: "levels",
        shape: "(levels table column)",
        summary: "the different cells of a column, in ascending order: a vector of numbers, or an \
                  array; a constant of the program",
        example: "(map effect (levels homes county))",
    },
    Form {
        name: "is_missing",
        shape: "(is_missing row.column)",
        summary: "whether a cell of a table is missing; where it is not, the cell can be used even if \
                  others of its column are missing",
        example: "(if (is_missing row.x) level (+ level (* slope row.x)))",
    },
    Form {
        name: "only_if",
        shape: "(only_if condition value)",
        summary: "stands where the value of an `observe` does: nothing is observed where the condition, \
                  which may not be random, is false",
        example: "[for row in t [observe (normal mu 1) (only_if (= row.kind 1) row.y)]]",
    },
];

pub static DIRECTIVES: &[Form] = &[
    Form {
        name: "assume",
        shape: "[assume name expr]",
        summary: "evaluates the expression in the trace and binds the name for the whole program",
        example: "[assume mu (normal 0 10)]",
    },
    Form {
        name: "observe",
        shape: "[observe expr value]",
        summary: "constrains the random choice that the expression refers to; the value is an \
                  expression without random choices",
        example: "[observe (normal mu 1) 2.5]",
    },
    Form {
        name: "factor",
        shape: "[factor expr]",
        summary: "adds the expression, a number that may hang on random choices, to the log density: \
                  a likelihood or a prior written by hand, or a constraint (0 where it holds, \
                  (log 0) where not)",
        example: "[factor (log_density normal 2.5 mu 1)]",
    },
    Form {
        name: "predict",
        shape: "[predict expr]",
        summary: "evaluates the expression in the trace and records it as a draw, named by its \
                  label, else by its text",
        example: "next: [predict (normal mu 1)]",
    },
    Form {
        name: "infer",
        shape: "[infer kernel]",
        summary: "runs an inference program; a number k is k sweeps of the default kernel",
        example: "[infer (mh default one 1000)]",
    },
    Form {
        name: "sample",
        shape: "[sample expr]",
        summary: "evaluates the expression, shows its value and leaves no trace",
        example: "[sample (normal mu 1)]",
    },
    Form {
        name: "force",
        shape: "[force expr value]",
        summary: "sets a random choice once, without constraining it: a starting value",
        example: "[force mu 3]",
    },
    Form {
        name: "report",
        shape: "[report label]",
        summary: "shows the value of a labelled directive",
        example: "[report next]",
    },
    Form {
        name: "forget",
        shape: "[forget label]",
        summary: "removes a labelled directive and its random choices",
        example: "[forget next]",
    },
    Form {
        name: "freeze",
        shape: "[freeze label]",
        summary: "turns the value of a labelled directive into a constant",
        example: "[freeze next]",
    },
    Form {
        name: "clear",
        shape: "[clear]",
        summary: "starts over with an empty trace",
        example: "[clear]",
    },
    Form {
        name: "log_joint",
        shape: "[log_joint]",
        summary: "shows the log density of all random choices",
        example: "[log_joint]",
    },
    Form {
        name: "log_likelihood",
        shape: "[log_likelihood]",
        summary: "shows the log density of the observed random choices",
        example: "[log_likelihood]",
    },
    Form {
        name: "define",
        shape: "[define name value]",
        summary: "a constant for the inference language and for later directives, never part of \
                  the trace",
        example: "[define steps 1000]",
    },
    Form {
        name: "table",
        shape: "[table name \"path\" option ...]",
        summary: "loads a table; without a path the data come from outside (--data name=path). \
                  The extension names the format: .csv, .parquet, .arrow, .npy, .npz. \
                  (vector x \"x*\") binds several columns as one, (text code) reads a column of a \
                  CSV as text; (missing skip) leaves out rows of a loop in which a cell that it uses is \
                  missing, (missing infer) does not observe missing cells and lets `impute` draw others",
        example: "[table train \"train.csv\" (vector x \"x*\")]",
    },
    Form {
        name: "impute",
        shape: "[impute table.column expr]",
        summary: "the distribution of a column with missing cells, in a table with (missing infer): each missing \
                  cell is a random choice of its own, and the cells that are there are observed. The \
                  expression may use other cells of the row, and random choices",
        example: "[impute people.age (normal (+ a (* b people.income)) sd)]",
    },
    Form {
        name: "for",
        shape: "[for name in table directive ...]",
        summary: "repeats directives for every row of a table (row.column is a cell, row.index \
                  the row number from 0), or for every number of (range a b), b excluded",
        example: "[for row in train [observe (f row.x) row.y]]",
    },
    Form {
        name: "let",
        shape: "[let name expr]",
        summary: "in a for: evaluates the expression once a round and binds the name for the rest of \
                  the round",
        example: "[for row in points [let k (z row.index)] [observe (normal (m k) (s k)) row.y]]",
    },
    Form {
        name: "load",
        shape: "[load \"file.smg\"]",
        summary: "includes another program; the path is relative to this file",
        example: "[load \"priors.smg\"]",
    },
];
