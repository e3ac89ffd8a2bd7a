//! Whether a saved state can go on: its numbers are places in tables and in the bytes that are held.

use super::numbered::{AlternativeId, FormId};
use super::state::{Head, Mode, Origin, State};
use super::tables::Tables;

impl State {
    /// Whether all numbers fit these tables and the held bytes.
    pub(crate) fn fits(&self, tables: &Tables, hold: &str) -> bool {
        let form = |form: FormId| tables.forms.get(form).is_some();
        let alternative = |i: AlternativeId| tables.alternatives.get(i).is_some_and(|a| a.message || form(a.form));
        let origin = |origin: &Origin| origin.lead <= origin.first && hold.is_char_boundary(origin.first);
        let mode = match &self.mode {
            Mode::Text | Mode::Skip(_) => true,
            Mode::Head(head) => origin(&head.origin) && threads_fit(head, tables, hold),
            Mode::Early(early) => {
                let all = early.next.iter().chain([&early.alternative]);
                let repeats =
                    early.repeats.iter().all(|(from, to)| *to <= early.read && hold.get(*from..*to).is_some());
                origin(&early.origin) && hold.is_char_boundary(early.read) && repeats && all.copied().all(alternative)
            }
            Mode::Body(call) => form(call.form),
            Mode::Closers { form: of, next } => tables.forms.get(*of).is_some_and(|form| *next <= form.closers.len()),
            Mode::BlockClosed { closer } => *closer < tables.follow.block_close.len(),
        };
        let strip = self.strip.is_none_or(|(trail, _)| tables.trails.get(trail).is_some());
        mode && strip && hold.is_char_boundary(self.seen) && self.closer_is_text.is_none_or(form)
    }
}

fn threads_fit(head: &Head, tables: &Tables, hold: &str) -> bool {
    head.last <= hold.len()
        && head.threads.iter().chain(&head.before).all(|(alternative, thread)| {
            let known = tables.alternatives.get(*alternative);
            known.is_some_and(|a| (a.message || tables.forms.get(a.form).is_some()) && thread.fits(hold))
        })
}
