//! Scopes and blocks: which random choices an inference program means.
//!
//! `(scope_include scope block e)` tags the random choices made while `e` is evaluated, so the
//! tags in force are carried along the evaluation as a linked list; an inner tag of the same
//! scope hides the outer one, `scope_exclude` hides it with nothing. A choice that `mem` made
//! belongs to the blocks in force when it was made.
//!
//! A name of the program is a scope too, once a kernel has asked for it (`model/named.rs`): for an assumed name every
//! choice made for it is a block of its own, for a memoised procedure every application is one, by its arguments.
//! Such a tag ends where a memoised body begins, whoever asks first: what is in it does not hang on history.
//!
//! All containers are indexable and updated in O(1); their order is a function of history, never
//! of hashing, and each removal can be undone to the very place.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_value::{Symbol, Value};

use crate::id::NodeId;

/// The tags in force, innermost first.
#[derive(Clone, Default)]
pub struct Tags(Option<Arc<Link>>);

struct Link {
    scope: Value,
    tag: Tag,
    outer: Tags,
    /// Whether this or an outer tag is that of a name.
    has_names: bool,
}

/// What a choice is in a scope.
#[derive(Clone)]
pub(crate) enum Tag {
    Excluded,
    In(Value),
    /// A block of its own, called by its address.
    Alone,
}

impl Tag {
    fn block(&self, address: u64) -> Option<Value> {
        match self {
            Tag::Excluded => None,
            Tag::In(block) => Some(block.clone()),
            Tag::Alone => Some(Value::Number(address as f64)),
        }
    }
}

/// Before the names of scopes that are names of the program. No program can write such a symbol: it has blanks.
const OF_NAME: &str = "choices of ";

/// The scope of an assumed name.
pub fn scope_of_name(name: Symbol) -> Value {
    Value::symbol(&format!("{OF_NAME}{name}"))
}

/// The name that a scope is of, if it is of one.
pub fn name_of_scope(scope: &Value) -> Option<&'static str> {
    match scope {
        Value::Symbol(name) => name.as_str().strip_prefix(OF_NAME),
        _ => None,
    }
}

impl Tags {
    pub fn include(&self, scope: Value, block: Value) -> Tags {
        self.tagged(scope, Tag::In(block))
    }

    pub fn exclude(&self, scope: Value) -> Tags {
        self.tagged(scope, Tag::Excluded)
    }

    pub(crate) fn tagged(&self, scope: Value, tag: Tag) -> Tags {
        let has_names = self.has_names() || name_of_scope(&scope).is_some();
        Tags(Some(Arc::new(Link { scope, tag, outer: self.clone(), has_names })))
    }

    fn has_names(&self) -> bool {
        self.0.as_ref().is_some_and(|link| link.has_names)
    }

    /// The tags in force within a memoised body.
    pub(crate) fn in_memoised_body(&self) -> Tags {
        let Some(link) = self.0.as_ref().filter(|link| link.has_names) else { return self.clone() };
        let outer = link.outer.in_memoised_body();
        match name_of_scope(&link.scope) {
            Some(_) => outer,
            None => outer.tagged(link.scope.clone(), link.tag.clone()),
        }
    }

    /// The blocks of [`Scopes::enter`] for a choice at this address, in the order of the memberships it gave.
    pub(crate) fn blocks(&self, address: u64) -> impl Iterator<Item = Value> {
        self.effective(address).into_iter().map(|(_, block)| block)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a choice made under these tags belongs to a block of the scope.
    pub(crate) fn hold(&self, scope: &Value) -> bool {
        let mut tags = self;
        while let Some(link) = &tags.0 {
            if link.scope == *scope {
                return !matches!(link.tag, Tag::Excluded);
            }
            tags = &link.outer;
        }
        false
    }

    /// Each scope's innermost block.
    fn effective(&self, address: u64) -> SmallVec<[(&Value, Value); 2]> {
        let mut seen: SmallVec<[&Value; 4]> = SmallVec::new();
        let mut found = SmallVec::new();
        let mut tags = self;
        while let Some(link) = &tags.0 {
            if !seen.contains(&&link.scope) {
                seen.push(&link.scope);
                found.extend(link.tag.block(address).map(|block| (&link.scope, block)));
            }
            tags = &link.outer;
        }
        found
    }
}

/// Where a choice stands in one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    scope: u32,
    block: u32,
    place: u32,
    /// Where the block stood among the live ones when this, its last member, left.
    place_in_live: u32,
}

pub type Memberships = SmallVec<[Membership; 1]>;

/// Up to so many scopes are searched, more are hashed. Most programs have a few, named by symbols.
const FEW_SCOPES: usize = 4;

#[derive(Clone, Default)]
pub struct Scopes {
    scopes: Vec<Scope>,
    by_id: FxHashMap<Value, u32>,
}

#[derive(Clone)]
struct Scope {
    id: Value,
    /// Slots of blocks; those not in `live` are free.
    blocks: Vec<Block>,
    free: Vec<u32>,
    live: Vec<u32>,
    by_id: FxHashMap<Value, u32>,
}

#[derive(Clone)]
struct Block {
    id: Value,
    members: SmallVec<[NodeId; 2]>,
    place_in_live: u32,
}

impl Scopes {
    /// The blocks of a scope, in order of their ids.
    pub fn ordered_blocks(&self, scope: &Value) -> Vec<Value> {
        let mut ids: Vec<Value> = self.scope(scope).map_or_else(Vec::new, |scope| {
            scope.live.iter().map(|b| scope.blocks[*b as usize].id.clone()).collect()
        });
        ids.sort();
        ids
    }

    pub fn number_of_blocks(&self, scope: &Value) -> usize {
        self.scope(scope).map_or(0, |scope| scope.live.len())
    }

    /// The choices of the k-th block in the order of history.
    pub fn block_at(&self, scope: &Value, k: usize) -> &[NodeId] {
        match self.scope(scope) {
            Some(scope) => &scope.blocks[scope.live[k] as usize].members,
            None => &[],
        }
    }

    pub fn block(&self, scope: &Value, block: &Value) -> &[NodeId] {
        self.scope(scope)
            .and_then(|scope| {
                scope.by_id.get(block).map(|b| &scope.blocks[*b as usize].members[..])
            })
            .unwrap_or(&[])
    }

    /// Ids of all scopes with live blocks, in order.
    pub fn ids(&self) -> Vec<Value> {
        let live = self.scopes.iter().filter(|scope| !scope.live.is_empty());
        let mut ids: Vec<Value> = live.map(|scope| scope.id.clone()).collect();
        ids.sort();
        ids
    }

    #[inline]
    fn scope(&self, id: &Value) -> Option<&Scope> {
        match self.scopes.len() <= FEW_SCOPES {
            true => self.scopes.iter().find(|scope| scope.id == *id),
            false => self.by_id.get(id).map(|s| &self.scopes[*s as usize]),
        }
    }

    /// Adds a choice at an address to the blocks of its tags; gives its memberships.
    pub(crate) fn enter(&mut self, (node, address): (NodeId, u64), tags: &Tags) -> Memberships {
        let mut memberships = Memberships::new();
        if tags.0.is_none() {
            return memberships;
        }
        for (scope, block) in tags.effective(address) {
            memberships.push(self.enter_block(node, scope, &block));
        }
        memberships
    }

    fn enter_block(&mut self, node: NodeId, scope_id: &Value, block_id: &Value) -> Membership {
        let scope = match self.by_id.get(scope_id) {
            Some(&scope) => scope,
            None => {
                let scope = self.scopes.len() as u32;
                self.by_id.insert(scope_id.clone(), scope);
                self.scopes.push(Scope::new(scope_id.clone()));
                scope
            }
        };
        let (block, place) = self.scopes[scope as usize].enter(node, block_id);
        Membership { scope, block, place, place_in_live: 0 }
    }

    /// Adds a choice that is there already to another scope, whose tag is its innermost now.
    pub(crate) fn enter_late(
        &mut self,
        (node, address): (NodeId, u64),
        (scope, tag): (&Value, &Tag),
        memberships: &mut Memberships,
    ) {
        if let Some(block) = tag.block(address) {
            memberships.insert(0, self.enter_block(node, scope, &block));
        }
    }

    /// Removes a choice. Returns, for each of its blocks, the choice that took its place, whose
    /// membership the caller has to correct by [`Membership::moved_to`].
    pub(crate) fn leave(&mut self, m: &mut Membership) -> Option<NodeId> {
        self.scopes[m.scope as usize].leave(m)
    }

    /// Undoes [`Scopes::leave`], in reverse order of leaving. Returns the choice that has to
    /// move back to the end.
    pub(crate) fn re_enter(
        &mut self,
        node: NodeId,
        m: Membership,
        block: &Value,
    ) -> Option<(NodeId, u32)> {
        self.scopes[m.scope as usize].re_enter(node, m, block)
    }
}

impl Membership {
    /// Whether two memberships are of the same block.
    pub(crate) fn same_block(self, other: Membership) -> bool {
        (self.scope, self.block) == (other.scope, other.block)
    }

    pub(crate) fn moved_to(&mut self, place: u32) {
        self.place = place;
    }

    pub(crate) fn place(self) -> u32 {
        self.place
    }
}

impl Scope {
    fn new(id: Value) -> Scope {
        Scope {
            id,
            blocks: Vec::new(),
            free: Vec::new(),
            live: Vec::new(),
            by_id: FxHashMap::default(),
        }
    }

    fn enter(&mut self, node: NodeId, block_id: &Value) -> (u32, u32) {
        let block = match self.by_id.get(block_id) {
            Some(&block) => block,
            None => self.open(block_id),
        };
        let members = &mut self.blocks[block as usize].members;
        members.push(node);
        (block, members.len() as u32 - 1)
    }

    fn open(&mut self, id: &Value) -> u32 {
        let place_in_live = self.live.len() as u32;
        let block = match self.free.pop() {
            Some(block) => {
                self.blocks[block as usize].id = id.clone();
                self.blocks[block as usize].place_in_live = place_in_live;
                block
            }
            None => {
                self.blocks.push(Block { id: id.clone(), members: SmallVec::new(), place_in_live });
                self.blocks.len() as u32 - 1
            }
        };
        self.live.push(block);
        self.by_id.insert(id.clone(), block);
        block
    }

    fn leave(&mut self, m: &mut Membership) -> Option<NodeId> {
        let block = &mut self.blocks[m.block as usize];
        block.members.swap_remove(m.place as usize);
        let moved = block.members.get(m.place as usize).copied();
        if block.members.is_empty() {
            m.place_in_live = block.place_in_live;
            let place = block.place_in_live as usize;
            self.live.swap_remove(place);
            if let Some(&other) = self.live.get(place) {
                self.blocks[other as usize].place_in_live = place as u32;
            }
            self.by_id.remove(&self.blocks[m.block as usize].id);
            self.free.push(m.block);
        }
        moved
    }

    fn re_enter(&mut self, node: NodeId, m: Membership, id: &Value) -> Option<(NodeId, u32)> {
        if self.blocks[m.block as usize].members.is_empty() {
            let reopened = self.free.pop();
            debug_assert_eq!(reopened, Some(m.block), "undone in reverse order");
            let place = m.place_in_live as usize;
            self.live.push(m.block);
            let last = self.live.len() - 1;
            self.live.swap(place, last);
            let displaced = self.live[last];
            self.blocks[displaced as usize].place_in_live = last as u32;
            self.blocks[m.block as usize].place_in_live = place as u32;
            self.blocks[m.block as usize].id = id.clone();
            self.by_id.insert(id.clone(), m.block);
        }
        let members = &mut self.blocks[m.block as usize].members;
        members.push(node);
        let last = members.len() - 1;
        members.swap(m.place as usize, last);
        (m.place as usize != last).then(|| (members[last], last as u32))
    }
}
