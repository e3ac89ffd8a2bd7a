//! Tables with typed indices: an index of one table is not valid for another.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// The index of an entry.
pub(crate) trait Number: Copy {
    fn new(at: usize) -> Self;
    fn at(self) -> usize;
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(usize);

        impl Number for $name {
            fn new(at: usize) -> Self {
                Self(at)
            }

            fn at(self) -> usize {
                self.0
            }
        }
    };
}

number!(
    /// The alternatives that one literal may open.
    CallHeaderId
);
number!(
    /// A way to open a call.
    AlternativeId
);
number!(
    /// A call's template after its header.
    FormId
);
number!(
    /// A block's template.
    BlockId
);
number!(
    /// White space that may be stripped after a marker.
    TrailId
);

impl FormId {
    /// The call that the format writes.
    pub(crate) const FIRST: Self = Self(0);
}

/// A table with indices of the type `Id`.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<Id, T> {
    entries: Vec<T>,
    id: PhantomData<Id>,
}

impl<Id: Number, T> Numbered<Id, T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), id: PhantomData }
    }

    /// Adds an entry and returns its index.
    pub(crate) fn push(&mut self, entry: T) -> Id {
        self.entries.push(entry);
        Id::new(self.entries.len() - 1)
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        self.entries.get(id.at())
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.entries.first()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The index of the first matching entry.
    pub(crate) fn position(&self, fits: impl FnMut(&T) -> bool) -> Option<Id> {
        self.entries.iter().position(fits).map(Id::new)
    }
}

impl<Id: Number, T> Index<Id> for Numbered<Id, T> {
    type Output = T;

    fn index(&self, id: Id) -> &T {
        &self.entries[id.at()]
    }
}

impl<Id: Number, T> IndexMut<Id> for Numbered<Id, T> {
    fn index_mut(&mut self, id: Id) -> &mut T {
        &mut self.entries[id.at()]
    }
}
