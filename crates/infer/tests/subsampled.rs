//! The ways to read the sections of a proposal agree: one after the other, drawn from all, drawn
//! by kind. Each gives every section once.

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{Evaluator, NodeId, Partition, Proposal, Refusal, Scaffold, Trace};
use smidgen_infer::acceptance::LogWeights;
use smidgen_infer::sections::{Orders, Sections};
use smidgen_testkit::World;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_value::Rng;

/// All log weights of one proposal, sorted: scanned, drawn, drawn by kind.
fn three_ways(trace: &mut Trace, block: &[NodeId], seed: u64) -> Result<[Vec<f64>; 3], Refusal> {
    let mut partition = Partition::new();
    partition.find(trace, block)?;
    let (mut scaffold, mut evaluator) = (Scaffold::new(), Evaluator::new());
    let (mut orders, mut rng) = (Orders::default(), Rng::from_seed(seed));
    let mut proposal = Proposal::propose_global(
        trace,
        &mut scaffold,
        block,
        &partition,
        &mut evaluator,
        (&mut FromPrior, &mut rng),
    )
    .expect("a proposal");
    let mut sections =
        Sections::new(&mut proposal, &partition, &mut evaluator, &mut orders, &mut rng);
    let [mut scanned, mut drawn, mut by_kind] = [const { Vec::new() }; 3];
    sections
        .scan(&mut |lot| {
            scanned.extend_from_slice(lot);
            true
        })
        .expect("weights");
    sections.draw(partition.population(), &mut drawn).expect("weights");
    let mut sections =
        Sections::new(&mut proposal, &partition, &mut evaluator, &mut orders, &mut rng);
    for (stratum, size) in sections.strata().into_iter().enumerate() {
        sections.draw_from(stratum, size, &mut by_kind).expect("weights");
    }
    Ok([scanned, drawn, by_kind].map(|mut weights| {
        weights.sort_by(f64::total_cmp);
        weights
    }))
}

#[test]
fn every_section_is_read_once() {
    let mut rng = Rng::for_chain(77, 0);
    let mut joint = 0;
    for seed in 0..500 {
        let tape: Vec<u16> = (0..120).map(|_| rng.below(1 << 16) as u16).collect();
        let text = program(&tape, EVERYTHING);
        let mut world = World::new(&text, seed);
        let choices = world.model.choices().to_vec();
        if !world.log_joint().is_finite() {
            continue;
        }
        let single = choices.iter().map(|id| vec![*id]);
        for block in single.chain(choices.windows(2).map(<[NodeId]>::to_vec)) {
            let trace = world.model.trace_mut();
            let Ok([scanned, drawn, by_kind]) = three_ways(trace, &block, seed) else { continue };
            joint += usize::from(block.len() > 1);
            assert_eq!(scanned, drawn, "{text}");
            assert_eq!(scanned, by_kind, "by kind, a block of {}\n{text}", block.len());
        }
    }
    assert!(joint > 50, "{joint}");
}

/// b depends on a and has no sections of its own: the edge from a to b is no section.
#[test]
fn a_member_of_the_block_is_no_section_of_any_kind() {
    let rows = "[observe (normal a 1) 0] [observe (normal a 1) 1]
                [observe (normal (* 2 a) 3) 2] [observe (normal (* 2 a) 3) 4]";
    let text = format!("[assume a (normal 0 1)] [assume b (normal a 0.1)] {rows}");
    let mut world = World::new(&text, 1);
    let block = world.model.choices().to_vec();
    let trace = world.model.trace_mut();
    let [scanned, drawn, by_kind] = three_ways(trace, &block, 3).expect("sections");
    assert_eq!(scanned.len(), 4);
    assert_eq!(scanned, drawn);
    assert_eq!(scanned, by_kind);
}
