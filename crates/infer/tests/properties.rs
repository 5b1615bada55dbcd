//! What holds for every program and every move: random programs, random moves.

use proptest::prelude::*;
use smidgen_engine::check::{check, dump};
use smidgen_engine::node::Op;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{
    Choice, EvalError, Evaluator, Fault, NodeId, Partition, Proposal, Proposed, Proposer, Scaffold,
    Trace,
};
use smidgen_infer::proposer::{Scale, walk};
use smidgen_testkit::World;
use smidgen_testkit::oracle::Snapshot;
use smidgen_testkit::programs::{EVERYTHING, Options, program};
use smidgen_value::{Rng, Value};

const MOVES: usize = 12;

/// The random choice of programs, seeds and moves.
fn tapes() -> impl Strategy<Value = (Vec<u16>, u64)> {
    (prop::collection::vec(any::<u16>(), 0..120), any::<u64>())
}

fn world_of(tape: &[u16], seed: u64, options: Options) -> (World, String) {
    let text = program(tape, options);
    let world = World::new(&text, seed);
    (world, text)
}

/// A block of one choice, sometimes of two or all.
fn random_block(trace: &Trace, rng: &mut Rng) -> Vec<NodeId> {
    let choices = trace.choices();
    if choices.is_empty() {
        return vec![];
    }
    match rng.below(6) {
        0 => choices.to_vec(),
        1 => {
            let (a, b) = (rng.below(choices.len()), rng.below(choices.len()));
            if a == b { vec![choices[a]] } else { vec![choices[a], choices[b]] }
        }
        _ => vec![choices[rng.below(choices.len())]],
    }
}

/// A walk where there is one, else the prior.
struct Walk;

impl Proposer for Walk {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(choice.support().is_ok_and(|support| support.is_continuous()))
    }
    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        match choice.support() {
            Ok(support) if support.is_continuous() => {
                walk(choice.current(), &support, &support, &Scale::Same(0.7), rng)
            }
            _ => Ok(Proposed::Prior),
        }
    }
}

fn proposer(rng: &mut Rng) -> Box<dyn Proposer> {
    if rng.coin() { Box::new(FromPrior) } else { Box::new(Walk) }
}

/// Makes the same moves in two worlds that are alike, rehearsed in one of them. Gives how many were, or what differs.
fn rehearse_and_make(
    rehearsing: &mut World,
    making: &mut World,
    seed: u64,
    moves: usize,
) -> Result<usize, String> {
    let mut rng = Rng::for_chain(seed, 5);
    let (mut stage, mut scaffold) = (Scaffold::new(), Scaffold::new());
    let mut rehearsed = 0;
    for step in 0..moves as u64 {
        let before = dump(&rehearsing.model);
        let block = random_block(&rehearsing.model, &mut rng);
        if block.is_empty() {
            break;
        }
        let walks = rng.coin();
        let proposer =
            || -> Box<dyn Proposer> { if walks { Box::new(Walk) } else { Box::new(FromPrior) } };
        let (mut first, mut second) = (Rng::for_chain(seed, step), Rng::for_chain(seed, step));
        let (one, other) = (rehearsing.model.trace_mut(), making.model.trace_mut());
        let one = Proposal::rehearse(one, &mut stage, &block, &mut *proposer(), &mut first);
        let other = Proposal::propose(other, &mut scaffold, &block, &mut *proposer(), &mut second);
        let (one, other) = match (one, other) {
            (Ok(one), Ok(other)) => (one, other),
            (Err(one), Err(other)) if one.to_string() == other.to_string() => break,
            (one, other) => return Err(format!("{:?} {:?}", one.err(), other.err())),
        };
        rehearsed += usize::from(one.is_rehearsed());
        let weights = |p: &Proposal<'_>| (p.log_old(), p.log_new(), p.log_ratio(), p.choices());
        if format!("{:?}", weights(&one)) != format!("{:?}", weights(&other)) {
            return Err(format!("weights {:?}, made {:?}", weights(&one), weights(&other)));
        }
        if other.log_ratio() > f64::NEG_INFINITY && rng.below(3) > 0 {
            one.install(&mut first).map_err(|error| error.to_string())?;
            other.commit();
        } else {
            drop((one, other));
            if before != dump(&rehearsing.model) {
                return Err("a rehearsal that was dropped is seen".to_owned());
            }
        }
        if dump(&rehearsing.model) != dump(&making.model) || first.seed() != second.seed() {
            return Err(format!("after move {step} the worlds differ"));
        }
        check(&rehearsing.model)?;
    }
    Ok(rehearsed)
}

/// Recursion of random depth: what is proposed for nearly every choice changes what exists.
#[test]
fn moves_that_change_what_exists_are_rehearsed() {
    let text =
        "[assume geom (lambda () (if (flip 0.5) (gamma 1 1) (+ 1 (geom))))] [assume n (geom)]
        [observe (normal n 1) 5]";
    let worlds = (&mut World::new(text, 7), &mut World::new(text, 7));
    let rehearsed = rehearse_and_make(worlds.0, worlds.1, 3, 400).unwrap();
    assert!(rehearsed > 40, "{rehearsed}");
}

/// What is kept from one move to the next holds only as long as what it hangs on.
#[test]
fn what_is_kept_too_long_is_noticed() {
    let text = "[assume b (flip 0.5)] [assume x (normal 0 1)] [assume y (if b x (* x x))]
        [observe (normal y 1) 0.5]";
    let moves = |fault: Option<Fault>| {
        let (mut rehearsing, mut making) = (World::new(text, 7), World::new(text, 7));
        rehearsing.model.trace_mut().put_fault(fault);
        rehearse_and_make(&mut rehearsing, &mut making, 3, 100)
    };
    assert!(moves(None).is_ok());
    for fault in [Fault::KeptDensity, Fault::KeptScaffold] {
        assert!(moves(Some(fault)).is_err(), "{fault:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A proposal that is dropped leaves the very trace behind; one that is committed leaves a
    /// trace whose invariants hold.
    #[test]
    fn a_dropped_proposal_leaves_no_trace((tape, seed) in tapes()) {
        let (mut world, text) = world_of(&tape, seed, EVERYTHING);
        let mut rng = Rng::for_chain(seed, 1);
        let mut scaffold = Scaffold::new();
        for _ in 0..MOVES {
            let before = dump(&world.model);
            let log_joint = world.log_joint();
            let block = random_block(&world.model, &mut rng);
            if block.is_empty() {
                break;
            }
            let mut proposer = proposer(&mut rng);
            let trace = world.model.trace_mut();
            drop(Proposal::propose(trace, &mut scaffold, &block, &mut *proposer, &mut rng));
            prop_assert_eq!(&before, &dump(&world.model), "{}", text);
            prop_assert_eq!(log_joint.to_bits(), world.log_joint().to_bits(), "{}", text);
            let held = check(&world.model);
            prop_assert!(held.is_ok(), "after a drop: {}\n{}", held.unwrap_err(), text);
            let trace = world.model.trace_mut();
            let proposal = Proposal::propose(trace, &mut scaffold, &block, &mut *proposer, &mut rng);
            let proposal = proposal.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            if proposal.log_ratio() > f64::NEG_INFINITY {
                proposal.commit();
            } else {
                drop(proposal);
            }
            let held = check(&world.model).and_then(|()| world.agrees_with_its_text());
            prop_assert!(held.is_ok(), "after a move: {}\n{}", held.unwrap_err(), text);
        }
    }

    /// A move that is rehearsed is the move that is made.
    #[test]
    fn a_rehearsal_is_the_move_to_come((tape, seed) in tapes()) {
        let (mut rehearsing, text) = world_of(&tape, seed, EVERYTHING);
        let (mut making, _) = world_of(&tape, seed, EVERYTHING);
        let done = rehearse_and_make(&mut rehearsing, &mut making, seed, MOVES);
        prop_assert!(done.is_ok(), "{}\n{}", done.unwrap_err(), text);
    }

    /// log α by definition: the change of the log joint, less the log probability of what was
    /// drawn, plus that of what the move back draws. For walks: plus their log q ratio.
    #[test]
    fn the_log_ratio_is_what_it_ought_to_be((tape, seed) in tapes()) {
        let (mut world, text) = world_of(&tape, seed, EVERYTHING);
        let mut rng = Rng::for_chain(seed, 2);
        let mut scaffold = Scaffold::new();
        for _ in 0..MOVES {
            let before = Snapshot::of(&world.model);
            let joint = world.log_joint();
            prop_assert!(close(before.log_joint, joint), "{} {joint}\n{text}", before.log_joint);
            let block = random_block(&world.model, &mut rng);
            if block.is_empty() || !joint.is_finite() {
                break;
            }
            let inner: Box<dyn Proposer> = if rng.below(3) == 0 { Box::new(Walk) } else { Box::new(FromPrior) };
            let mut noting = Noting { inner, walked: vec![], log_q_ratio: 0.0 };
            let trace = world.model.trace_mut();
            let proposal = Proposal::propose(trace, &mut scaffold, &block, &mut noting, &mut rng);
            let proposal = proposal.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            let found = proposal.log_ratio();
            if found == f64::NEG_INFINITY {
                continue;
            }
            let after = Snapshot::of(proposal.trace());
            let walked = &noting.walked;
            let drawn = |from: &Snapshot, to: &Snapshot| -> Vec<NodeId> {
                let drawn = from.drawn_by_move_to(to, &block);
                drawn.into_iter().filter(|id| !walked.contains(id)).collect()
            };
            let (forth, back) = (drawn(&before, &after), drawn(&after, &before));
            let log_forth = after.log_drawn(proposal.trace(), &forth);
            drop(proposal);
            prop_assert_eq!(&before.choices, &Snapshot::of(&world.model).choices);
            if before.order_matters(&after, &forth, walked) || after.order_matters(&before, &back, walked) {
                continue;
            }
            let log_back = before.log_drawn(&world.model, &back);
            let change = after.log_joint - before.log_joint;
            let want = change - log_forth + log_back + noting.log_q_ratio;
            prop_assert!(close(found, want), "log ratio {found}, ought to be {want}\n{text}");
            let trace = world.model.trace_mut();
            let proposal = Proposal::propose(trace, &mut scaffold, &block, &mut FromPrior, &mut rng);
            if let Ok(proposal) = proposal && proposal.log_ratio() > f64::NEG_INFINITY {
                proposal.commit();
            }
        }
    }

    /// The scaffold is the set of nodes that a move may touch: T is what goes, D is what follows
    /// from the principals without randomness, A the choices that read D or T; and nothing else
    /// changes its value or its density.
    #[test]
    fn the_scaffold_is_what_a_move_touches((tape, seed) in tapes()) {
        let (mut world, text) = world_of(&tape, seed, EVERYTHING);
        let mut rng = Rng::for_chain(seed, 3);
        let mut scaffold = Scaffold::new();
        for _ in 0..MOVES {
            let block = random_block(&world.model, &mut rng);
            if block.is_empty() {
                break;
            }
            let before = Snapshot::of(&world.model);
            let live: Vec<NodeId> = world.model.live_nodes().collect();
            let values: Vec<Value> = live.iter().map(|id| world.model.node(*id).value.clone()).collect();
            scaffold.build(world.model.trace_mut(), &block);
            let transient: Vec<NodeId> = scaffold.transient_nodes(&world.model).collect();
            let reached = follow(&world.model, &block, &transient);
            let sorted = |ids: &[NodeId]| { let mut ids = ids.to_vec(); ids.sort(); ids };
            prop_assert_eq!(sorted(&scaffold.target), sorted(&reached.target), "D\n{}", text);
            prop_assert_eq!(sorted(&scaffold.absorbing), sorted(&reached.absorbing), "A\n{}", text);
            prop_assert_eq!(sorted(&scaffold.makers), sorted(&reached.makers), "makers\n{}", text);
            let trace = world.model.trace_mut();
            let proposal = Proposal::propose(trace, &mut scaffold, &block, &mut FromPrior, &mut rng);
            let proposal = proposal.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            if proposal.log_ratio() == f64::NEG_INFINITY {
                continue;
            }
            let after = Snapshot::of(proposal.trace());
            // A draw of the current value, with nothing random in T, is the identity.
            if after.choices == before.choices {
                continue;
            }
            for (id, value) in live.iter().zip(&values) {
                let node = proposal.trace().node(*id);
                prop_assert_eq!(!node.is_live(), transient.contains(id), "T at #{}\n{}", id.index(), text);
                if !node.is_live() || reached.target.contains(id) {
                    continue;
                }
                prop_assert_eq!(&node.value, value, "#{} changed\n{}", id.index(), text);
                if let (Some(old), Some(new)) = (before.choices.get(id), after.choices.get(id)) {
                    let absorbs = reached.absorbing.contains(id);
                    prop_assert!(absorbs || old.log_density == new.log_density, "density of #{}\n{}", id.index(), text);
                }
            }
            proposal.commit();
        }
    }

    /// After a lazy change every value read is what an eager change would have made it.
    #[test]
    fn refreshing_equals_rebuilding((tape, seed) in tapes()) {
        let plain = Options { structure: false, makers: false, observations: true };
        let (mut lazy, text) = world_of(&tape, seed, plain);
        let (mut eager, _) = world_of(&tape, seed, plain);
        let mut rng = Rng::for_chain(seed, 4);
        let (mut scaffold, mut evaluator) = (Scaffold::new(), Evaluator::new());
        let mut partition = Partition::new();
        for step in 0..MOVES as u64 {
            let choices = eager.model.choices().to_vec();
            if choices.is_empty() {
                break;
            }
            let block = [choices[rng.below(choices.len())]];
            if partition.find(lazy.model.trace_mut(), &block).is_err() {
                continue;
            }
            let (mut first, mut second) = (Rng::for_chain(seed, step), Rng::for_chain(seed, step));
            let trace = eager.model.trace_mut();
            let proposal = Proposal::propose(trace, &mut scaffold, &block, &mut FromPrior, &mut first);
            let proposal = proposal.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            if proposal.log_ratio() == f64::NEG_INFINITY {
                continue;
            }
            proposal.commit();
            let moved = (&mut FromPrior as &mut dyn Proposer, &mut second);
            let trace = lazy.model.trace_mut();
            let proposal = Proposal::propose_global(trace, &mut scaffold, &block, &partition, &mut evaluator, moved);
            proposal.unwrap().commit_lazily();
            // Sometimes several changes go unread.
            if rng.coin() {
                continue;
            }
            let live: Vec<NodeId> = eager.model.live_nodes().collect();
            let some = live[rng.below(live.len())];
            let read = lazy.model.trace_mut().value(some).unwrap().clone();
            prop_assert_eq!(&read, &eager.model.node(some).value, "{}", text);
            if rng.coin() {
                prop_assert_eq!(lazy.log_joint().to_bits(), eager.log_joint().to_bits(), "{}", text);
                for id in live {
                    let read = lazy.model.trace_mut().value(id).unwrap().clone();
                    prop_assert_eq!(&read, &eager.model.node(id).value, "{}", text);
                }
            }
        }
    }

    /// Directives happen whole or not at all, and what is forgotten is gone.
    #[test]
    fn a_failed_directive_leaves_no_trace((tape, seed) in tapes()) {
        let (mut world, text) = world_of(&tape, seed, EVERYTHING);
        let before = dump(&world.model);
        prop_assert!(world.execute("[predict (+ 1 (first (list (flip 0.5) nobody)))]").is_err());
        prop_assert!(world.execute("[observe (normal (normal 0 1) (- 0 1)) 2]").is_err());
        prop_assert_eq!(&before, &dump(&world.model), "{}", text);
        let (joint, likelihood) = (world.log_joint(), world.model.log_likelihood().unwrap());
        let count = world.model.live_nodes().count();
        world.execute("here: [predict (if (flip 0.5) (normal 0 1) (gamma 1 1))] [forget here]").unwrap();
        prop_assert_eq!(world.model.live_nodes().count(), count, "{}", text);
        prop_assert!(close(world.log_joint(), joint) && close(world.model.log_likelihood().unwrap(), likelihood));
        let held = check(&world.model);
        prop_assert!(held.is_ok(), "{}\n{}", held.unwrap_err(), text);
    }
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs().min(b.abs()))
}

/// Remembers which choices were proposed by a walk, and their log q ratios.
struct Noting {
    inner: Box<dyn Proposer>,
    walked: Vec<NodeId>,
    log_q_ratio: f64,
}

impl Proposer for Noting {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        self.inner.is_local(choice)
    }
    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        let proposed = self.inner.propose(choice, rng)?;
        if let Proposed::Local { log_q_ratio, .. } = &proposed {
            self.walked.push(choice.node);
            self.log_q_ratio += log_q_ratio;
        }
        Ok(proposed)
    }
}

/// D and A by brute force: from the arguments of all nodes, again and again until nothing is new.
#[derive(Default)]
struct Reached {
    target: Vec<NodeId>,
    absorbing: Vec<NodeId>,
    makers: Vec<NodeId>,
}

fn follow(trace: &Trace, principals: &[NodeId], transient: &[NodeId]) -> Reached {
    let mut reached = Reached::default();
    let gone = |id: NodeId| transient.contains(&id);
    let mut changed: Vec<NodeId> = principals.to_vec();
    loop {
        let before = changed.len();
        for id in trace.live_nodes() {
            let node = trace.node(id);
            let reads =
                node.args.iter().filter_map(|arg| arg.operand.node()).any(|p| changed.contains(&p));
            let deterministic = !node.is_random() && !matches!(node.op, Op::Maker(_));
            if reads && deterministic && !changed.contains(&id) {
                changed.push(id);
            }
        }
        if changed.len() == before {
            break;
        }
    }
    for id in trace.live_nodes().filter(|id| !gone(*id)) {
        let node = trace.node(id);
        let reads = node.args.iter().filter_map(|arg| arg.operand.node());
        let reads = reads.into_iter().any(|p| changed.contains(&p) || gone(p));
        if changed.contains(&id) {
            reached.target.push(id);
        } else if reads && node.is_random() {
            reached.absorbing.push(id);
        } else if reads && matches!(node.op, Op::Maker(_)) {
            reached.makers.push(id);
        }
    }
    reached
}
