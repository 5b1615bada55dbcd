//! What a move costs, by counting: the scaffold of a choice does not grow with the program around it.

use smidgen_engine::Scaffold;
use smidgen_testkit::World;

/// Nodes in the scaffold of the k-th unconstrained choice.
fn scaffold_size(text: &str, k: usize) -> usize {
    let mut world = World::new(text, 3);
    let id = world.model.choices()[k];
    let mut scaffold = Scaffold::new();
    scaffold.build(world.model.trace_mut(), &[id]);
    let transient = scaffold.transient_nodes(&world.model).count();
    scaffold.target.len() + scaffold.absorbing.len() + scaffold.makers.len() + transient
}

#[test]
fn a_makers_parameter_is_absorbed_without_a_visit_to_its_applications() {
    let with = |maker: &str, n: usize| {
        let observations: String = (0..n).map(|i| format!("[observe (f) {}] ", i % 2)).collect();
        scaffold_size(&format!("[assume p (beta 2 2)] [assume f ({maker})] {observations}"), 0)
    };
    for maker in ["make_suff_stat_bernoulli p", "make_beta_bernoulli p 1", "make_sym_dir_cat p 2"] {
        assert_eq!(with(maker, 4), with(maker, 400), "{maker}");
    }
    // Without statistics every application is visited.
    let plain = |n: usize| {
        let observations: String =
            (0..n).map(|i| format!("[observe (bernoulli p) {}] ", i % 2)).collect();
        scaffold_size(&format!("[assume p (beta 2 2)] {observations}"), 0)
    };
    assert_eq!(plain(400) - plain(4), 396);
}

#[test]
fn a_state_in_the_middle_of_a_chain_has_the_same_scaffold_in_any_chain() {
    let chain = |n: usize| {
        let observations: String =
            (0..n).map(|t| format!("[observe (normal (s {t}) 1) 0.5] ")).collect();
        let text = format!(
            "[assume s (mem (lambda (t) (if (< t 1) (normal 0 1) (normal (s (- t 1)) 1))))] {observations}"
        );
        scaffold_size(&text, 5)
    };
    assert_eq!(chain(10), chain(1000));
}

#[test]
fn a_seat_has_the_same_scaffold_in_any_restaurant() {
    let restaurant = |n: usize| {
        let guests: String =
            (0..n).map(|i| format!("[observe (normal (centre (z {i})) 1) 0.5] ")).collect();
        let text = format!(
            "[assume crp (make_crp 0.1)] [assume z (mem (lambda (i) (crp)))]
             [assume centre (mem (lambda (k) (normal 0 1)))] {guests}"
        );
        // The seat of the second guest: the first guest's seat and table come before it.
        scaffold_size(&text, 2)
    };
    assert_eq!(restaurant(20), restaurant(2000));
}
