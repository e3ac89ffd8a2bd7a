//! Tables whose entries have numbers of a type of their own: a number of one table names no entry of another.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// The number of an entry.
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
    /// What one literal may open: some alternatives.
    CallHeaderId
);
number!(
    /// A way in which calls may open.
    AlternativeId
);
number!(
    /// A call's template behind its opening.
    FormId
);
number!(
    /// A block's template.
    BlockId
);
number!(
    /// What may be stripped behind a marker.
    TrailId
);

impl FormId {
    /// The call that the format writes.
    pub(crate) const FIRST: Self = Self(0);
}

/// A table whose entries have numbers of the type `Id`.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<Id, T> {
    entries: Vec<T>,
    id: PhantomData<Id>,
}

impl<Id: Number, T> Numbered<Id, T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), id: PhantomData }
    }

    /// Adds an entry and gives back its number.
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

    /// The number of the first entry that fits.
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
