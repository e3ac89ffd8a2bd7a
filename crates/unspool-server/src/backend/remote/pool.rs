//! Several servers of one kind: load balancing, health, and their facts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::http::{Http, read_limited};
use crate::backend::{BackendFault, ServerFacts, ServerState};

/// Timeout of a health check.
const HEALTH_TIME: Duration = Duration::from_secs(5);
/// Timeout of a query for facts: a request may wait for it.
const FACTS_TIME: Duration = Duration::from_secs(3);
/// Delay before a failed query for facts is repeated.
const FACTS_PAUSE: Duration = Duration::from_secs(5);

/// The servers.
#[derive(Debug)]
pub(super) struct Pool {
    members: Vec<Member>,
    /// The path of the health check.
    health: &'static str,
    /// The paths of the facts.
    facts: &'static [&'static str],
    /// Interval of health checks; zero: never, and then no server is skipped.
    interval: Duration,
    watched: AtomicBool,
    /// Rotates among equally busy servers.
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    base: String,
    busy: AtomicUsize,
    well: AtomicBool,
    /// Held during a query, so that one task queries and others wait.
    facts: tokio::sync::Mutex<Option<Instant>>,
    /// Its last facts.
    said: Mutex<Option<Arc<ServerFacts>>>,
    /// It may be a different server by now.
    stale: AtomicBool,
}

impl Member {
    fn new(base: String) -> Self {
        Self {
            base,
            busy: AtomicUsize::new(0),
            well: AtomicBool::new(true),
            facts: tokio::sync::Mutex::new(None),
            said: Mutex::new(None),
            stale: AtomicBool::new(true),
        }
    }

    fn said(&self) -> Option<Arc<ServerFacts>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Queries the server's facts, unless they are known or were queried a moment ago.
    async fn learn(&self, http: &Http, paths: &[&str]) {
        if !self.stale.load(Ordering::Acquire) {
            return;
        }
        let mut asked = self.facts.lock().await;
        let waits = asked.is_some_and(|at| at.elapsed() < FACTS_PAUSE);
        if waits || !self.stale.load(Ordering::Acquire) {
            return;
        }
        *asked = Some(Instant::now());
        let answers = join_all(paths.iter().map(|path| answer(http, &self.base, path))).await;
        // A server without facts is not queried again; an unreachable one is.
        let Some(answers) = answers.into_iter().collect::<Option<Vec<_>>>() else { return };
        let mut facts = ServerFacts::default();
        answers.iter().for_each(|answer| facts.learn(answer));
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(facts));
        self.stale.store(false, Ordering::Release);
        *asked = None;
    }
}

/// A server's answer at a path: null if it has none; `None` if it is unreachable.
async fn answer(http: &Http, base: &str, path: &str) -> Option<serde_json::Value> {
    let response = http.get(base, path).timeout(FACTS_TIME).send().await.ok()?;
    if response.status().as_u16() >= 500 {
        return None;
    }
    let body = read_limited(response).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap_or_default())
}

impl Pool {
    /// The servers at `bases`, with the paths of their health check and facts.
    pub(super) fn new(
        bases: Vec<String>,
        (health, facts): (&'static str, &'static [&'static str]),
        interval: Duration,
    ) -> Self {
        let members = bases.into_iter().map(Member::new).collect();
        Self { members, health, facts, interval, watched: AtomicBool::new(false), turn: AtomicUsize::new(0) }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The least busy server that is not among `tried`. An unhealthy one is used if no other is left, because it may
    /// have recovered.
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

    /// Queries the unknown facts of all servers.
    pub(super) async fn learn(&self, http: &Http) {
        join_all(self.members.iter().map(|member| member.learn(http, self.facts))).await;
    }

    /// The known facts of the servers.
    pub(super) fn facts(&self) -> impl Iterator<Item = Arc<ServerFacts>> {
        self.members.iter().filter_map(Member::said)
    }

    /// The current state of each server.
    pub(super) async fn states(&self, http: &Http) -> Vec<ServerState> {
        let state = |member: &'_ Member| {
            let address = shown(&member.base);
            let (base, said) = (member.base.clone(), member.said());
            async move {
                let asked = http.get(&base, self.health).timeout(HEALTH_TIME).send().await;
                let well = asked.is_ok_and(|answer| answer.status().as_u16() < 500);
                ServerState { address, well, facts: said.map(|said| ServerFacts::clone(&said)).unwrap_or_default() }
            }
        };
        join_all(self.members.iter().map(state)).await
    }

    fn is_watched(&self) -> bool {
        self.members.len() > 1 && !self.interval.is_zero()
    }

    fn set_well(&self, index: usize, well: bool) {
        let Some(member) = self.members.get(index) else { return };
        if member.well.swap(well, Ordering::Relaxed) != well {
            member.stale.fetch_or(well, Ordering::Release);
            tracing::info!(
                "backend {} of {} is {}",
                index + 1,
                self.members.len(),
                if well { "well" } else { "not well" }
            );
        }
    }
}

/// One answer at one server, which counts as busy with it until this is dropped.
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

    /// Records a failure. An unreachable server is skipped from now on, if health checks run.
    pub(super) fn failed(&self, fault: BackendFault) {
        let gone = !matches!(fault, BackendFault::Refused(_) | BackendFault::BadAnswer);
        if gone {
            self.doubt();
        }
        if gone && self.pool.is_watched() {
            self.pool.set_well(self.index, false);
        }
    }
}

impl Lease {
    /// The known facts of the server.
    pub(super) fn facts(&self) -> Arc<ServerFacts> {
        self.pool.members[self.index].said().unwrap_or_default()
    }

    /// Marks the server's facts as possibly outdated.
    pub(super) fn doubt(&self) {
        self.pool.members[self.index].stale.store(true, Ordering::Release);
    }
}

/// An address without user name and password.
fn shown(base: &str) -> String {
    match (base.split_once("://"), base.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        _ => base.to_owned(),
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.members[self.index].busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts the health checks once, if there are several servers. They end with the pool.
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

    #[test]
    fn addresses_are_shown_without_secrets() {
        assert_eq!(shown("http://user:key@host:1/a"), "http://host:1/a");
        assert_eq!(shown("http://host:1"), "http://host:1");
    }

    fn pool(count: usize) -> Arc<Pool> {
        let bases = (0..count).map(|at| at.to_string()).collect();
        Arc::new(Pool::new(bases, ("/health", &[]), Duration::from_secs(1)))
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
