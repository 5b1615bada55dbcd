//! `smidgen help`, `--help`, `--version`.

use crate::support::Folder;

#[test]
fn every_name_is_explained() {
    let folder = Folder::new();
    let overview = folder.call(&["help"]).good();
    assert!(overview.contains("sample") && overview.contains("Distributions"));
    for entry in smidgen::reference::entries() {
        assert!(overview.split_whitespace().any(|word| word == entry.name), "{}", entry.name);
    }
    // One process each for a few, the rest through the same function.
    for name in ["normal", "assume", "lambda", "mh", "cycle", "make_crp", "map", "uniform", "+"] {
        let text = folder.call(&["help", name]).good();
        assert!(text.starts_with(['(', '[']) && text.contains(name), "{text}");
    }
}

#[test]
fn all_names_of_the_registry_exit_well() {
    let folder = Folder::new();
    for name in smidgen::prob::registry::names() {
        folder.call(&["help", "--", name]).good();
    }
}

#[test]
fn an_unknown_name_has_a_neighbour() {
    Folder::new().call(&["help", "nromal"]).fails(1, &["nromal", "did you mean `normal`?"]);
}

#[test]
fn words_of_other_systems_lead_to_ours() {
    let folder = Folder::new();
    for (word, names) in [
        ("half", &["half_normal", "half_cauchy"][..]),
        ("gaussian", &["(normal mean sd)", "multivariate_normal"]),
        ("Sigmoid", &["logistic"]),
        ("LKJ", &["wishart"]),
        ("hamiltonian", &["hmc", "nuts"]),
    ] {
        folder.call(&["help", word]).fails(1, names);
    }
    folder.call(&["help", "zzzz"]).fails(1, &["zzzz", "nor anything near it"]);
}

#[test]
fn the_reference_is_markdown() {
    let page = Folder::new().call(&["help", "--markdown"]).good();
    assert!(page.starts_with("# Reference") && page.contains("| `(normal mean sd)` |"));
}

#[test]
fn the_usual_options_work() {
    let folder = Folder::new();
    assert!(folder.call(&["--version"]).good().starts_with("smidgen "));
    assert!(folder.call(&["--help"]).good().contains("Usage"));
    assert!(folder.call(&["sample", "--help"]).good().contains("--approximate"));
}
