//! Several servers of one kind: which is asked, and which is well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::http::Http;
use crate::backend::BackendFault;

/// How long a server may take to say that it is well.
const HEALTH_TIME: Duration = Duration::from_secs(5);

/// The servers.
#[derive(Debug)]
pub(super) struct Pool {
    members: Vec<Member>,
    /// Where a server says whether it is well.
    health: &'static str,
    /// How often it is asked; zero: never, and then none is passed over.
    interval: Duration,
    watched: AtomicBool,
    /// Of equally busy servers the next one is asked.
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    base: String,
    busy: AtomicUsize,
    well: AtomicBool,
}

impl Pool {
    pub(super) fn new(bases: Vec<String>, health: &'static str, interval: Duration) -> Self {
        let member = |base| Member { base, busy: AtomicUsize::new(0), well: AtomicBool::new(true) };
        let members = bases.into_iter().map(member).collect();
        Self { members, health, interval, watched: AtomicBool::new(false), turn: AtomicUsize::new(0) }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The least busy server that is not among `tried`. One that is not well is asked where no other is left: it may be again.
    pub(super) fn lease(self: &Arc<Self>, tried: &[usize]) -> Option<Lease> {
        let count = self.members.len();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let open = (0..count).map(|step| turn.wrapping_add(step) % count).filter(|index| !tried.contains(index));
        let rank = |index: &usize| {
            let member = &self.members[*index];
            (!member.well.load(Ordering::Relaxed), member.busy.load(Ordering::Relaxed))
        };
        let index = open.min_by_key(rank)?;
        self.members[index].busy.fetch_add(1, Ordering::Relaxed);
        Some(Lease { pool: Arc::clone(self), index })
    }

    fn is_watched(&self) -> bool {
        self.members.len() > 1 && !self.interval.is_zero()
    }

    fn set_well(&self, index: usize, well: bool) {
        let Some(member) = self.members.get(index) else { return };
        if member.well.swap(well, Ordering::Relaxed) != well {
            tracing::info!(
                "backend {} of {} is {}",
                index + 1,
                self.members.len(),
                if well { "well" } else { "not well" }
            );
        }
    }
}

/// One answer at one server: it counts as busy with it until this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pool: Arc<Pool>,
    index: usize,
}

impl Lease {
    pub(super) fn base(&self) -> &str {
        &self.pool.members[self.index].base
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// The server has failed. One that cannot be reached is passed over from now on, if anybody looks whether it comes back.
    pub(super) fn failed(&self, fault: BackendFault) {
        let gone = !matches!(fault, BackendFault::Refused(_) | BackendFault::BadAnswer);
        if gone && self.pool.is_watched() {
            self.pool.set_well(self.index, false);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.members[self.index].busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Begins to ask the servers whether they are well, once, if there are several. It ends with the pool.
pub(super) fn watch(pool: &Arc<Pool>, http: &Http) {
    if !pool.is_watched() || pool.watched.swap(true, Ordering::Relaxed) {
        return;
    }
    let (weak, http) = (Arc::downgrade(pool), http.clone());
    tokio::spawn(async move {
        loop {
            let Some(pool) = weak.upgrade() else { return };
            for (index, member) in pool.members.iter().enumerate() {
                let asked = http.get(&member.base, pool.health).timeout(HEALTH_TIME).send().await;
                pool.set_well(index, asked.is_ok_and(|answer| answer.status().as_u16() < 500));
            }
            let interval = pool.interval;
            drop(pool);
            tokio::time::sleep(interval).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(count: usize) -> Arc<Pool> {
        let bases = (0..count).map(|at| at.to_string()).collect();
        Arc::new(Pool::new(bases, "/health", Duration::from_secs(1)))
    }

    #[test]
    fn the_least_busy_is_asked() {
        let pool = pool(3);
        let mut leases: Vec<Lease> = (0..3).filter_map(|_| pool.lease(&[])).collect();
        let mut asked: Vec<usize> = leases.iter().map(Lease::index).collect();
        asked.sort_unstable();
        assert_eq!(asked, [0, 1, 2]);
        let freed = leases.remove(1).index();
        for _ in 0..4 {
            let lease = pool.lease(&[]).expect("there are servers");
            assert_eq!(lease.index(), freed, "the one with nothing to do");
        }
        assert!(pool.lease(&[0, 1, 2]).is_none());
    }

    #[test]
    fn one_that_is_not_well_is_the_last_resort() {
        let pool = pool(2);
        let first = pool.lease(&[]).expect("there are servers");
        first.failed(BackendFault::Unreachable);
        let (gone, other) = (first.index(), 1 - first.index());
        drop(first);
        let held: Vec<usize> = (0..3).filter_map(|_| pool.lease(&[])).map(|lease| lease.index()).collect();
        assert_eq!(held, [other; 3]);
        assert_eq!(pool.lease(&[other]).map(|lease| lease.index()), Some(gone));
        let refused = pool.lease(&[]).expect("there are servers");
        refused.failed(BackendFault::Refused(503));
        assert_eq!(
            pool.lease(&[]).map(|lease| lease.index()),
            Some(other),
            "a refusal says nothing of the next request"
        );
    }
}
