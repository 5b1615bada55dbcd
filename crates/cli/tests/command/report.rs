//! `smidgen report`: pages from files of draws.

use crate::support::Folder;

const PROGRAM: &str = "[assume p (beta 1 1)]\n[observe (binomial 10 p) 7]\n\
                       [assume w (multivariate_diag_normal (zeros 2) (fill 2 1))]\n\
                       [predict p]\nw: [predict w]\n[predict (< p 0.5)]\n[infer (mh default one 5)]\n";

fn sampled(seed: &str, out: &str, folder: &Folder) {
    let args = ["sample", "m.smg", "--draws", "60", "--warmup", "20", "--chains", "2"];
    let own = ["--seed", seed, "--out", out];
    folder.call(&[&args[..], &own].concat()).good();
}

#[test]
fn a_page_from_every_format() {
    let folder = Folder::with_program(PROGRAM);
    for (out, has_program) in
        [("d.csv", false), ("d.json", true), ("d.parquet", true), ("d.arrow", true)]
    {
        sampled("1", out, &folder);
        let done = folder.call(&["report", out, "-o", "page.html"]);
        assert!(done.err.contains("the report is written to page.html"), "{}", done.err);
        assert_eq!(done.good(), "");
        let page = folder.read("page.html");
        for text in [
            "Draws in d.",
            "2 chains of 60 draws; 4 numbers",
            "trace of w[1]",
            "probabilities of (&lt; p 0.5)",
        ] {
            assert!(page.contains(text), "{out}: {text}");
        }
        for text in ["[infer (mh default one 5)]", "<h2>Kernels</h2>", "seed 1"] {
            assert_eq!(page.contains(text), has_program, "{out}: {text}");
        }
    }
    folder.call(&["report", "d.csv", "-o", "page.html", "--program", "m.smg"]).good();
    assert!(folder.read("page.html").contains("[infer (mh default one 5)]"));
}

#[test]
fn sample_makes_the_same_page() {
    let folder = Folder::with_program(PROGRAM);
    let args = ["sample", "m.smg", "--draws", "40", "--warmup", "0", "--seed", "3"];
    folder.call(&[&args[..], &["--html", "page.html"]].concat()).good();
    let page = folder.read("page.html");
    for text in
        ["Draws of m.smg", "4 chains of 40 draws", "(mh default one 5)", "trace of p", "<dd>3</dd>"]
    {
        assert!(page.contains(text), "{text}");
    }
    folder
        .call(&["sample", "m.smg", "--html", "no/such/page.html"])
        .fails(1, &["--html no/such/page.html", "no folder"]);
}

#[test]
fn files_are_further_chains() {
    let folder = Folder::with_program(PROGRAM);
    sampled("1", "a.json", &folder);
    sampled("2", "b.csv", &folder);
    let args = ["report", "a.json", "b.csv", "-o", "page.html", "--title", "Both", "--only", "w"];
    folder.call(&args).good();
    let page = folder.read("page.html");
    assert!(page.contains("<h1>Both ") && page.contains("4 chains of 60 draws; 2 of 4 numbers"));
    assert!(page.contains("trace of w[0]") && !page.contains("trace of p"));
    folder.write("c.csv", "p,q\n1,2\n");
    folder
        .call(&["report", "b.csv", "c.csv", "-o", "page.html"])
        .fails(1, &["c.csv", "`w[0]`", "b.csv"]);
}

#[cfg(feature = "png")]
#[test]
fn figures_are_files() {
    let folder = Folder::with_program(PROGRAM);
    sampled("1", "d.csv", &folder);
    folder.call(&["report", "d.csv", "--png", "figures", "--only", "p"]).good();
    for name in ["p-trace", "p-density", "p-ranks", "p-autocorrelation"] {
        let png = std::fs::read(folder.path(&format!("figures/{name}.png"))).expect(name);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{name}");
        assert_eq!(png[16..20], 900u32.to_be_bytes(), "the width of {name}");
    }
}

#[test]
fn mistakes_are_described() {
    let folder = Folder::with_program(PROGRAM);
    folder.write("a.csv", "chain,draw,alpha\n0,0,1\n0,1,oops\n");
    folder.write("b.csv", "alpha\n1\n2\n");
    let call = |more: &[&str]| folder.call(&[&["report"], more].concat());
    call(&["a.csv", "-o", "x.html"]).fails(1, &["a.csv: line 3", "`alpha`", "\"oops\""]);
    call(&["none.csv", "-o", "x.html"]).fails(1, &["none.csv", "cannot read"]);
    call(&["b.csv"]).fails(2, &["--out"]);
    call(&["-o", "x.html"]).fails(2, &["DRAWS"]);
    call(&["b.csv", "-o", "no/x.html"]).fails(1, &["no folder no"]);
    let only = ["b.csv", "-o", "x.html", "--only", "alpah"];
    call(&only).fails(1, &["`alpah`", "did you mean `alpha`?"]);
    let program = ["b.csv", "-o", "x.html", "--program", "none.smg"];
    call(&program).fails(1, &["--program none.smg"]);
    assert!(!folder.path("x.html").exists());
}
