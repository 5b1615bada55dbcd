//! What `smidgen help` and the reference page are made of: one list of everything with a name.

use smidgen_infer::kernel::KERNELS;
use smidgen_infer::spec::COMBINATORS;
use smidgen_lang::forms::{DIRECTIVES, SPECIAL_FORMS};
use smidgen_prob::registry::{self, Builtin};

/// Something with a name.
#[derive(Clone, Debug)]
pub struct Entry {
    pub group: &'static str,
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// How it is written: `(normal mean sd)`.
    pub shape: String,
    pub summary: &'static str,
    pub example: &'static str,
}

/// Everything with a name, in the order of the documentation.
pub fn entries() -> Vec<Entry> {
    let form = |group: &'static str| {
        move |form: &'static smidgen_lang::forms::Form| Entry {
            group,
            name: form.name,
            aliases: &[],
            shape: form.shape.to_owned(),
            summary: form.summary,
            example: form.example,
        }
    };
    let mut entries: Vec<Entry> = DIRECTIVES.iter().map(form("Directives")).collect();
    entries.extend(SPECIAL_FORMS.iter().map(form("Special forms")));
    entries.extend(KERNELS.iter().map(|spec| Entry {
        group: "Kernels",
        name: spec.name,
        aliases: &[],
        shape: spec.shape.to_owned(),
        summary: spec.summary,
        example: spec.example,
    }));
    entries.extend(COMBINATORS.iter().map(|(name, shape, summary)| Entry {
        group: "Combinators of kernels",
        name,
        aliases: &[],
        shape: (*shape).to_owned(),
        summary,
        example: "",
    }));
    let spellable = registry::all().filter(|builtin| builtin.spec().is_spellable());
    entries.extend(spellable.map(|builtin| {
        let spec = builtin.spec();
        let blank = if spec.parameters.is_empty() { "" } else { " " };
        Entry {
            group: match builtin {
                Builtin::Distribution(_) => "Distributions",
                Builtin::Maker(_) => "Makers of exchangeable procedures",
                Builtin::Function(_) => "Deterministic procedures",
                Builtin::HigherOrder(_) => "Procedures of procedures",
            },
            name: spec.name,
            aliases: spec.aliases,
            shape: format!("({}{blank}{})", spec.name, spec.parameters),
            summary: spec.summary,
            example: spec.example,
        }
    }));
    entries
}

/// The entries of this name or alias (a name may be both a kernel and a procedure).
pub fn find(name: &str) -> Vec<Entry> {
    let mut found = entries();
    found.retain(|entry| entry.name == name || entry.aliases.contains(&name));
    found
}

/// Words that other systems and books use, with names of ours. The first name that exists counts.
const OTHER_WORDS: &[(&str, &[&str])] = &[
    ("gp", &["cov_exp_quad", "cov_matern52", "cov_periodic"]),
    ("gaussian_process", &["cov_exp_quad", "cov_matern52", "cov_periodic"]),
    ("rbf", &["cov_exp_quad"]),
    ("matern", &["cov_matern32", "cov_matern52"]),
    ("missing", &["impute", "is_missing", "table"]),
    ("na", &["impute", "is_missing", "table"]),
    ("target", &["factor"]),
    ("potential", &["factor"]),
    ("weight", &["factor"]),
    ("condition", &["observe", "factor"]),
    ("constraint", &["factor", "observe"]),
    ("lkj", &["lkj", "lkj_cholesky", "inv_wishart"]),
    ("correlation", &["lkj", "multivariate_normal"]),
    ("covariance", &["inv_wishart", "wishart", "multivariate_normal"]),
    ("gaussian", &["normal", "multivariate_normal"]),
    ("softmax", &["categorical", "normalize"]),
    ("random", &["uniform_continuous", "normal"]),
    ("truncated", &["truncate", "truncated_normal"]),
    ("censored", &["censor"]),
    ("loop", &["for", "map", "fold"]),
    ("while", &["lambda", "letrec"]),
    ("function", &["lambda"]),
    ("def", &["assume", "lambda"]),
    ("csv", &["table"]),
    ("data", &["table", "for"]),
    ("gibbs", &["gibbs", "pgibbs"]),
    ("metropolis", &["mh"]),
    ("hamiltonian", &["hmc", "nuts"]),
    ("smc", &["resample", "pgibbs"]),
    ("particle", &["pgibbs", "resample"]),
    ("optimize", &["map"]),
    ("optimise", &["map"]),
];

/// What a reader who asked for a word that is no name may have meant, the nearest first: the same word in another
/// spelling, a word of other systems, names that contain it, close spellings, summaries that speak of it.
pub fn near(word: &str) -> Vec<Entry> {
    const SHOWN: usize = 8;
    let word = word.to_lowercase().replace('-', "_");
    let names = |entry: &Entry| -> Vec<String> {
        let all = std::iter::once(entry.name).chain(entry.aliases.iter().copied());
        all.map(str::to_lowercase).collect()
    };
    let others =
        OTHER_WORDS.iter().find(|(other, _)| *other == word).map_or(&[][..], |(_, names)| *names);
    let elsewhere = registry::called_elsewhere(&word);
    let entries = entries();
    let all_names: Vec<String> = entries.iter().flat_map(names).collect();
    let close = smidgen_lang::diagnostic::closest(&word, all_names.iter().map(String::as_str));
    let rank = |entry: &Entry| {
        let own = names(entry);
        if own.contains(&word) || elsewhere == Some(entry.name) {
            Some(0)
        } else if let Some(place) = others.iter().position(|name| *name == entry.name) {
            Some(1 + place)
        } else if word.len() >= 3 && own.iter().any(|name| name.contains(&word)) {
            Some(10)
        } else if close.is_some_and(|close| own.iter().any(|name| name == close)) {
            Some(11)
        } else {
            let says = |text: &str| {
                text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|w| w == word)
            };
            (word.len() >= 3 && says(entry.summary)).then_some(12)
        }
    };
    let mut ranked: Vec<(usize, Entry)> =
        entries.into_iter().filter_map(|entry| rank(&entry).map(|rank| (rank, entry))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(SHOWN).map(|(_, entry)| entry).collect()
}

/// The reference page, as Markdown.
pub fn markdown() -> String {
    let mut page = String::from("# Reference\n\nMade by `smidgen help --markdown`; do not edit.\n");
    let mut group = "";
    let cell = |text: &str| text.replace('|', "\\|");
    for entry in entries() {
        if entry.group != group {
            group = entry.group;
            page.push_str(&format!(
                "\n## {group}\n\n| how it is written | what it does | example |\n|---|---|---|\n"
            ));
        }
        let aliases = match entry.aliases {
            [] => String::new(),
            aliases => format!(" (also {})", aliases.join(", ")),
        };
        let example = match entry.example {
            "" => String::new(),
            example => format!("`{}`", cell(example)),
        };
        let (shape, summary) = (cell(&entry.shape), cell(entry.summary));
        page.push_str(&format!("| `{shape}`{aliases} | {summary} | {example} |\n"));
    }
    page
}
