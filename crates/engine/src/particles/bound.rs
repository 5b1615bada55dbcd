//! Lane programs that several segments share, and what each of them feeds to its leaves.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use smidgen_value::{Link, Value};

use super::writer::{ColumnKind, DRAWN, Form, Frame, NodePlace, Read, Uniform, Writer};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::Register;
use crate::program::Source;
use crate::program::lanes::{Action, Held, Kind, LaneProgram, Rule, Uniforms};
use crate::program::links::{at_place, eta_of};
use crate::program::marked::{self, Marked};
use crate::program::template::{fill_in, renamed};
use crate::program::values::LaneStore;
use crate::trace::Trace;

/// What a leaf gets.
#[derive(Clone, Copy, PartialEq)]
enum Feed {
    /// A column, by the name that the plan gave it.
    Column(u32),
    /// The same in all lanes: numbers of the inputs from this place on.
    Numbers(u32),
    /// Nothing: a draw writes it.
    Drawn,
}

/// A program of the library with what is fed to it.
pub(super) struct Bound {
    program: u32,
    feeds: Box<[Feed]>,
    /// The columns of its boxed leaves.
    boxed: Box<[u32]>,
    /// The values that are the same in all lanes, by their place among the inputs.
    uniforms: Box<[u32]>,
    pub places: Box<[NodePlace]>,
}

/// Lanes of a run, with what is fed to them.
pub(super) struct Lanes<'a> {
    pub bound: &'a Bound,
    pub lanes: Range<usize>,
}

/// A program, and which of its registers are columns of those who use it.
pub(super) struct Shared {
    pub lane_program: LaneProgram,
    boxed_leaves: Box<[u32]>,
    /// The places of its calls that the host answers.
    asks: Vec<u32>,
    /// The registers of its columns.
    pub numbers: Vec<Register>,
    pub kinds: Vec<ColumnKind>,
    pub boxed: Vec<u32>,
    /// What the nodes are in terms of these columns; none for one that stands still.
    pub nodes: Vec<Option<Held>>,
    /// The columns of nodes that are single plain numbers.
    plain: Vec<Option<u32>>,
}

#[derive(Default)]
pub(super) struct Library {
    programs: Vec<Shared>,
    known: FxHashMap<Vec<u64>, u32>,
}

/// Numbers that are read from the trace.
struct Live {
    node: NodeId,
    form: Form,
    /// Whether η is read instead.
    link: Option<Link>,
    place: u32,
}

/// What is read from the trace at the start of a pass, and constants.
#[derive(Default)]
pub(super) struct Inputs {
    numbers: Vec<f64>,
    values: Vec<Value>,
    live: Vec<Live>,
    /// Places of values of nodes.
    outside: Vec<(u32, NodeId)>,
    live_of: FxHashMap<(NodeId, Option<Link>), u32>,
    outside_of: FxHashMap<NodeId, u32>,
    numbers_of: FxHashMap<u64, u32>,
    /// Places of the constants that came last.
    recent: VecDeque<u32>,
}

/// Constants that another one is compared with: as many as a few segments have.
const RECENT: usize = 16;

impl Inputs {
    /// Reads what is outside. False if a value has another form than steps rely on.
    pub fn refresh(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        for live in &self.live {
            let (place, value) = (live.place as usize, trace.value(live.node)?);
            if let (Value::Number(x), Form::Number) = (value, live.form) {
                self.numbers[place] = *x;
                continue;
            }
            if Form::of(value) != Some(live.form) {
                return Ok(false);
            }
            if let Some(link) = live.link {
                self.numbers[place] = eta_of(value, link);
                continue;
            }
            let mut numbers = Vec::new();
            marked::numbers(value, &mut numbers);
            self.numbers[place..place + numbers.len()].copy_from_slice(&numbers);
        }
        for (place, id) in &self.outside {
            self.values[*place as usize] = trace.value(*id)?.clone();
        }
        Ok(true)
    }

    fn live(&mut self, node: NodeId, first: u32, form: Form) -> u32 {
        let link = at_place(first);
        *self.live_of.entry((node, link)).or_insert_with(|| {
            let place = self.numbers.len() as u32;
            self.numbers.resize(self.numbers.len() + form.len(), 0.0);
            self.live.push(Live { node, form, link, place });
            place
        })
    }

    fn constants(&mut self, xs: &[f64]) -> u32 {
        let place = self.numbers.len() as u32;
        if let [x] = xs {
            let numbers = &mut self.numbers;
            return *self.numbers_of.entry(x.to_bits()).or_insert_with(|| {
                numbers.push(*x);
                place
            });
        }
        self.numbers.extend_from_slice(xs);
        place
    }

    fn uniform(&mut self, uniform: &Uniform) -> u32 {
        match uniform {
            Uniform::Constant(value) => self.constant(value.clone()),
            Uniform::Outside(id) => self.outside(*id),
        }
    }

    /// The place of a constant: that of the same one in a segment before, if it is there.
    pub fn constant(&mut self, value: Value) -> u32 {
        let same = |place: &&u32| self.values[**place as usize].is_identical(&value);
        if let Some(place) = self.recent.iter().find(same) {
            return *place;
        }
        let place = self.values.len() as u32;
        self.values.push(value);
        self.recent.truncate(RECENT - 1);
        self.recent.push_front(place);
        place
    }

    /// The place of a value outside the block.
    pub fn outside(&mut self, id: NodeId) -> u32 {
        let place = self.values.len() as u32;
        *self.outside_of.entry(id).or_insert_with(|| {
            self.values.push(Value::Nil);
            self.outside.push((place, id));
            place
        })
    }

    pub fn value(&self, place: u32) -> &Value {
        &self.values[place as usize]
    }

    pub fn uniforms<'a>(&'a self, bound: &'a Bound) -> Uniforms<'a> {
        Uniforms { places: &bound.uniforms, values: &self.values }
    }
}

impl Library {
    pub fn of(&self, bound: &Bound) -> &Shared {
        &self.programs[bound.program as usize]
    }

    /// A program that was written, or the same one that is here. The frame of the columns that hold its nodes.
    pub fn add(&mut self, writer: Writer, nodes: &[NodeId], inputs: &mut Inputs) -> (Bound, Frame) {
        let reads: Vec<Option<Read>> = nodes.iter().map(|id| writer.known(*id)).collect();
        let Writer { mut lane_program, boxed_leaves, uniforms, places, forms, .. } = writer;
        let held = reads.iter().filter_map(|read| match read {
            Some(Read::Held(held)) => Some(held),
            _ => None,
        });
        lane_program.drop_unread(held);
        let mut feeds = Vec::with_capacity(lane_program.program.leaves.len());
        for leaf in &lane_program.program.leaves {
            feeds.push(match &leaf.source {
                Source::Cell(DRAWN) => Feed::Drawn,
                Source::Cell(column) => Feed::Column(*column),
                Source::Number(x) => Feed::Numbers(inputs.constants(&[*x])),
                Source::Vector(xs) => Feed::Numbers(inputs.constants(xs)),
                Source::Live(node, first) => Feed::Numbers(inputs.live(*node, *first, forms[node])),
                Source::Input(_) | Source::Global(_) => unreachable!("no part of a segment"),
            });
        }
        let mut shared = Shared {
            lane_program,
            boxed_leaves: boxed_leaves.iter().map(|leaf| leaf.register).collect(),
            asks: Vec::new(),
            numbers: Vec::new(),
            kinds: Vec::new(),
            boxed: Vec::new(),
            nodes: Vec::new(),
            plain: Vec::new(),
        };
        for read in reads {
            let held = match read {
                Some(Read::Held(held)) => Some(shared.column(&held)),
                _ => None,
            };
            shared.plain.push(held.as_ref().and_then(|held| shared.plain_column(held)));
            shared.nodes.push(held);
        }
        asks(&shared.lane_program.actions, &mut shared.asks);
        let held = nodes.iter().zip(&shared.nodes);
        let held = held.filter_map(|(id, held)| Some((*id, held.clone()?))).collect();
        let frame = Frame { held, kinds: shared.kinds.clone(), boxed: shared.boxed.len() as u32 };
        let programs = &mut self.programs;
        let program = *self.known.entry(shared.key()).or_insert_with(|| {
            programs.push(shared);
            programs.len() as u32 - 1
        });
        let bound = Bound {
            program,
            feeds: feeds.into(),
            boxed: boxed_leaves.iter().map(|leaf| leaf.column).collect(),
            uniforms: uniforms.iter().map(|uniform| inputs.uniform(uniform)).collect(),
            places: places.into(),
        };
        (bound, frame)
    }

    /// Whether two can be run in lanes beside each other.
    pub fn runs_with(&self, a: &Bound, b: &Bound) -> bool {
        let node = |bound: &Bound, place: u32| bound.places[place as usize].node;
        a.program == b.program
            && a.uniforms == b.uniforms
            && self.of(a).asks.iter().all(|place| node(a, *place) == node(b, *place))
    }

    /// Whether two come to the same, given the same columns of the same names.
    pub fn comes_to_the_same(&self, a: &Bound, b: &Bound) -> bool {
        self.runs_with(a, b) && a.feeds == b.feeds && a.boxed == b.boxed
    }

    /// Brings what a program reads into its lanes, which stand in order; `number` and `boxed` fill in columns by their names,
    /// for lanes by their number. `before`: what the store holds from a run of as many lanes, whose numbers that are the same
    /// in all lanes are still there.
    #[inline]
    pub fn load(
        &self,
        all: &[Lanes<'_>],
        before: Option<&Bound>,
        inputs: &Inputs,
        store: &mut LaneStore,
        number: impl Fn(usize, u32, &mut [f64]),
        boxed: impl Fn(usize, u32, &mut [Value]),
    ) {
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return };
        let Shared { lane_program, boxed_leaves, .. } = self.of(first.bound);
        store.fit(lane_program.program.registers, lane_program.boxed, last.lanes.end);
        let before = before.filter(|before| before.program == first.bound.program);
        for (place, leaf) in lane_program.program.leaves.iter().enumerate() {
            if before.is_some_and(|before| before.feeds[place] == first.bound.feeds[place])
                && matches!(first.bound.feeds[place], Feed::Numbers(_))
            {
                continue;
            }
            for (which, Lanes { bound, lanes }) in all.iter().enumerate() {
                match bound.feeds[place] {
                    Feed::Column(column) => {
                        number(which, column, &mut store.row_mut(leaf.register)[lanes.clone()]);
                    }
                    Feed::Numbers(from) => {
                        for k in 0..leaf.len {
                            let x = inputs.numbers[(from + k) as usize];
                            store.row_mut(leaf.register + k)[lanes.clone()].fill(x);
                        }
                    }
                    Feed::Drawn => {}
                }
            }
        }
        for (place, register) in boxed_leaves.iter().enumerate() {
            for (which, Lanes { bound, lanes }) in all.iter().enumerate() {
                let row = &mut store.boxed_row_mut(*register)[lanes.clone()];
                boxed(which, bound.boxed[place], row);
            }
        }
    }
}

/// The places of calls that the host answers.
fn asks(actions: &[Action], places: &mut Vec<u32>) {
    for action in actions {
        match action {
            Action::Call(call) if matches!(call.rule, Rule::Marginal | Rule::Request) => {
                places.push(call.place);
            }
            Action::Call(_) => {}
            Action::Switch(switch) => {
                switch.sides.iter().for_each(|side| asks(&side.actions, places));
            }
        }
    }
}

impl Shared {
    /// What is held in registers, in columns.
    fn column(&mut self, held: &Held) -> Held {
        match held {
            Held::Uniform(_) => unreachable!("what is the same in all lanes is no node of D"),
            Held::Boxed(register) => {
                self.boxed.push(*register);
                Held::Boxed(self.boxed.len() as u32 - 1)
            }
            Held::Marked(template) => Held::Marked(renamed(template, &mut |register| {
                let (from, kind) = match self.lane_program.kind(register) {
                    Kind::Number => (register, ColumnKind::Number),
                    Kind::Truth => (register, ColumnKind::Truth),
                    Kind::Linked(link, eta) => (eta, ColumnKind::Linked(link)),
                };
                self.numbers.push(from);
                self.kinds.push(kind);
                marked::local(self.numbers.len() as u32 - 1)
            })),
        }
    }

    fn plain_column(&self, held: &Held) -> Option<u32> {
        let Held::Marked(Value::Number(mark)) = held else { return None };
        match marked::read(*mark) {
            Marked::Local(column) if self.kinds[column as usize] == ColumnKind::Number => {
                Some(column)
            }
            _ => None,
        }
    }

    /// The value of a node, given the numbers and boxed values in its columns.
    pub fn value(
        &self,
        node: usize,
        number: &dyn Fn(u32) -> f64,
        boxed: &dyn Fn(u32) -> Value,
    ) -> Option<Value> {
        if let Some(column) = self.plain[node] {
            return Some(Value::Number(number(column)));
        }
        Some(match self.nodes[node].as_ref()? {
            Held::Boxed(column) => boxed(*column),
            Held::Uniform(_) => unreachable!("columns hold what differs from lane to lane"),
            Held::Marked(template) => fill_in(template, &|column| {
                let x = number(column);
                match self.kinds[column as usize] {
                    ColumnKind::Number => Value::Number(x),
                    ColumnKind::Truth => Value::Bool(x != 0.0),
                    ColumnKind::Linked(link) => Value::linked(link, x),
                }
            }),
        })
    }

    /// Everything but what is fed to it.
    fn key(&self) -> Vec<u64> {
        let mut key = Vec::new();
        self.lane_program.program.shape(&mut key);
        let kinds = self.lane_program.kinds.iter().map(|kind| match kind {
            Kind::Number => 0,
            Kind::Truth => 1,
            Kind::Linked(link, eta) => 2 + 2 * u64::from(*eta) + *link as u64,
        });
        key.extend(kinds);
        key.push(u64::from(self.lane_program.boxed));
        key.extend(self.boxed_leaves.iter().map(|register| u64::from(*register)));
        self.lane_program.actions.iter().for_each(|action| key_of_action(action, &mut key));
        for held in &self.nodes {
            match held {
                Some(held) => key_of_held(held, &mut key),
                None => key.push(u64::MAX),
            }
        }
        let columns = self.numbers.iter().chain(&self.boxed);
        key.extend(columns.map(|register| u64::from(*register)));
        key
    }
}

fn key_of_action(action: &Action, key: &mut Vec<u64>) {
    match action {
        Action::Call(call) => {
            let address = |name: &'static str| name.as_ptr() as u64;
            let (code, which) = match call.rule {
                Rule::Function(function) => (0, address(function.spec.name)),
                Rule::Draw(distribution) => (1, address(distribution.spec().name)),
                Rule::Density(distribution) => (2, address(distribution.spec().name)),
                Rule::Marginal => (3, 0),
                Rule::Request => (4, 0),
                Rule::Which => (5, 0),
                Rule::Impossible => (7, 0),
            };
            let steps = u64::from(call.steps.start) << 32 | u64::from(call.steps.end);
            key.extend([code, which, u64::from(call.place), steps, u64::from(call.may_fail)]);
            key.push(call.operands.len() as u64);
            call.operands.iter().for_each(|held| key_of_held(held, key));
            key_of_held(&call.out, key);
        }
        Action::Switch(switch) => {
            let steps = u64::from(switch.steps.start) << 32 | u64::from(switch.steps.end);
            key.extend([6, u64::from(switch.place), u64::from(switch.is_condition), steps]);
            key_of_held(&switch.index, key);
            key.push(switch.sides.len() as u64);
            for side in &switch.sides {
                key.push(side.actions.len() as u64);
                side.actions.iter().for_each(|action| key_of_action(action, key));
                key_of_held(&side.value, key);
            }
            key_of_held(&switch.out, key);
        }
    }
}

fn key_of_held(held: &Held, key: &mut Vec<u64>) {
    match held {
        Held::Boxed(register) => key.extend([1, u64::from(*register)]),
        Held::Uniform(number) => key.extend([2, u64::from(*number)]),
        Held::Marked(value) => {
            key.push(3);
            key_of_value(value, key);
        }
    }
}

fn key_of_value(value: &Value, key: &mut Vec<u64>) {
    let numbers = |code: u64, xs: &[f64], key: &mut Vec<u64>| {
        key.extend([code, xs.len() as u64]);
        key.extend(xs.iter().map(|x| x.to_bits()));
    };
    match value {
        Value::Number(x) => key.extend([0, x.to_bits()]),
        Value::Vector(xs) => numbers(1, xs, key),
        Value::Matrix(m) => {
            key.push(m.rows() as u64);
            numbers(2, m.as_slice(), key);
        }
        Value::Array(items) => {
            key.extend([3, items.len() as u64]);
            items.iter().for_each(|item| key_of_value(item, key));
        }
        Value::Pair(pair) => {
            key.push(4);
            key_of_value(&pair.first, key);
            key_of_value(&pair.rest, key);
        }
        Value::Nil => key.push(5),
        // Told apart by what it looks like.
        other => {
            use std::hash::{Hash, Hasher};
            let mut hasher = rustc_hash::FxHasher::default();
            format!("{other:?}").hash(&mut hasher);
            key.extend([6, hasher.finish()]);
        }
    }
}
