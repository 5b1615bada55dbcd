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
