//! Named text filters over reasoning and content.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Sink};
use crate::format::file::Filter;

/// The filters of a format, in order, with what each holds back.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Filters {
    names: Vec<Filter>,
}

impl Filters {
    pub(crate) fn new(names: &[Filter]) -> Self {
        Self { names: names.to_vec() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A sink that filters on the way to `sink`.
    pub(crate) fn over<'a, S: Sink>(&'a mut self, sink: &'a mut S) -> Filtering<'a, S> {
        Filtering { _filters: self, sink }
    }

    /// Gives out what the filters held.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) {
        let _ = sink;
    }
}

pub(crate) struct Filtering<'a, S> {
    _filters: &'a mut Filters,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Filtering<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        self.sink.event(event);
    }
}
