//! Checks whether a saved state can continue: its numbers must be valid in the tables and in the held bytes.

use super::numbered::{AlternativeId, FormId};
use super::state::{Mode, Origin, PendingHeader, State};
use super::tables::Tables;

impl State {
    /// Whether all numbers are valid for these tables and held bytes.
    pub(crate) fn fits(&self, tables: &Tables, hold: &str) -> bool {
        let form = |form: FormId| tables.forms.get(form).is_some();
        let alternative = |i: AlternativeId| tables.alternatives.get(i).is_some_and(|a| a.message || form(a.form));
        let origin = |origin: &Origin| origin.lead <= origin.first && hold.is_char_boundary(origin.first);
        let mode = match &self.mode {
            Mode::Text | Mode::Skip(_) => true,
            Mode::Header(header) => origin(&header.origin) && cursors_fit(header, tables, hold),
            Mode::BeforeName(held_arguments) => {
                let all = held_arguments.next.iter().chain([&held_arguments.alternative]);
                let repeats = held_arguments
                    .repeats
                    .iter()
                    .all(|(from, to)| *to <= held_arguments.read && hold.get(*from..*to).is_some());
                origin(&held_arguments.origin)
                    && hold.is_char_boundary(held_arguments.read)
                    && repeats
                    && all.copied().all(alternative)
            }
            Mode::Body(call) => form(call.form),
            Mode::Closers { form: of, next } => tables.forms.get(*of).is_some_and(|form| *next <= form.closers.len()),
            Mode::BlockClosed { closer } => *closer < tables.follow.block_close.len(),
        };
        let strip = self.strip.is_none_or(|(trail, _)| tables.trails.get(trail).is_some());
        mode && strip && hold.is_char_boundary(self.seen) && self.closer_is_text.is_none_or(form)
    }
}

fn cursors_fit(header: &PendingHeader, tables: &Tables, hold: &str) -> bool {
    header.last <= hold.len()
        && header.cursors.iter().chain(&header.before).all(|(alternative, cursor)| {
            let known = tables.alternatives.get(*alternative);
            known.is_some_and(|a| (a.message || tables.forms.get(a.form).is_some()) && cursor.fits(hold))
        })
}
