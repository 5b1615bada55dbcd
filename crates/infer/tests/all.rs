//! The tests of this folder as one program: linked once instead of once for each file, which is most
//! of the time that building them would take. `cargo test -p smidgen-infer --test all gibbs::` runs
//! those of one file. Only what needs an allocator of its own stands alone (`allocations.rs`).

mod adaptation;
mod angles;
mod asymptotic;
mod chains;
mod chains_by_particles;
mod control_variates;
mod exact;
mod fuzz;
mod geweke_sbc;
mod gibbs;
mod gibbs_branches;
mod gibbs_in_place;
mod gibbs_invariance;
mod gibbs_kept;
mod gibbs_roads;
mod hamiltonian;
mod idle;
mod invariance;
mod matrix;
mod members;
mod memory;
mod named;
mod particles_two_roads;
mod patches;
mod pgibbs;
mod pgibbs_invariance;
mod properties;
mod reference;
mod reference_sbc;
mod rejection;
mod saved;
mod scan;
mod sections;
mod sequential_test;
mod sessions;
mod slice;
mod smooth;
mod subsampled;
mod subsampled_decisions;
mod subsampled_invariance;
mod subsampled_matrices;
mod tall;
mod trajectories;
mod whole_numbers;
mod wild;

/// A file that nobody names would be compiled by nobody.
#[test]
fn every_file_is_named() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let files = std::fs::read_dir(folder).expect("the folder of the tests");
    for file in files.map(|file| file.expect("a file").path()) {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let is_named = include_str!("all.rs").contains(&format!("\nmod {name};\n"));
        assert!(is_named || ["all", "allocations"].contains(&name), "`mod {name};` is missing");
    }
}
