//! The gateway under load, beside a plain proxy and nothing at all.
//!
//!     load [--streams 1000] [--seconds 60] [--rate 10]
//!
//! A scripted model plays known streams, in turn directly, behind a plain proxy, and behind the gateway. Each run keeps
//! `--streams` streams open for `--seconds`, each at `--rate` tokens a second, and compares every stream with its message
//! byte for byte. The program fails if a stream differs or if memory grows.

mod client;
mod message;
mod process;
mod servers;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Found, Shared, Target};
use process::Server;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// How much is asked.
struct Load {
    streams: usize,
    seconds: u64,
    /// Tokens a second of one stream.
    rate: f64,
}

impl Load {
    fn read(arguments: &[String]) -> Fallible<Self> {
        let mut load = Self { streams: 1000, seconds: 60, rate: 10.0 };
        for pair in arguments.chunks(2) {
            match pair {
                [flag, value] if flag == "--streams" => load.streams = value.parse()?,
                [flag, value] if flag == "--seconds" => load.seconds = value.parse()?,
                [flag, value] if flag == "--rate" => load.rate = value.parse()?,
                _ => return Err("usage: load [--streams N] [--seconds N] [--rate TOKENS_A_SECOND]".into()),
            }
        }
        Ok(load)
    }
}

/// What one way to the model showed.
struct Row {
    way: &'static str,
    found: Found,
    /// Microseconds of processor time a token, of the process between client and model.
    cpu: f64,
    /// Its memory, once a second, in KiB.
    memory: Vec<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", role, argument] => servers::run(role, argument).map(|()| true),
        _ => Load::read(&arguments).and_then(|load| measure(&load)),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all ways and reports; whether all is well.
fn measure(load: &Load) -> Fallible<bool> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let model = Server::start("model", &load.rate.to_string())?;
    let mut rows = Vec::new();
    for way in ["nothing", "proxy", "gateway"] {
        eprintln!("{way}: {} streams at once for {} s", load.streams, load.seconds);
        let between = (way != "nothing").then(|| Server::start(way, &model.base)).transpose()?;
        rows.push(one(load, way, between.as_ref(), &model)?);
    }
    report(load, &rows);
    let mut well = true;
    for row in &rows {
        for fault in row.found.faults.iter().take(3) {
            println!("FAULT, {}: {fault}", row.way);
        }
        let grown = growth(&row.memory);
        if let Some((middle, end)) = grown {
            println!("GROWTH, {}: {middle} KiB in the middle of the time, {end} KiB at its end", row.way);
        }
        well &= row.found.faults.is_empty() && grown.is_none() && row.found.streams > 0;
    }
    println!("{}", if well { "all is well" } else { "NOT all is well" });
    Ok(well)
}

fn one(load: &Load, way: &'static str, between: Option<&Server>, model: &Server) -> Fallible<Row> {
    let server = between.unwrap_or(model);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(load.streams).build()?;
    let shared = Arc::new(Shared {
        client,
        target: Target { base: server.base.clone(), chat: way == "gateway" },
        next: AtomicU64::new(0),
        tokens: AtomicU64::new(0),
        until: Instant::now() + Duration::from_secs(load.seconds),
    });
    let before = server.cpu();
    let mut memory = Vec::new();
    let found = runtime.block_on(async {
        let mut tasks = Vec::new();
        for _ in 0..load.streams {
            tasks.push(tokio::spawn(client::run(Arc::clone(&shared))));
            // All at once would say more of the system's queue of connections than of the server.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        while Instant::now() < shared.until {
            memory.push(server.memory());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut all = Found::default();
        for task in tasks {
            let found = task.await.unwrap_or_default();
            all.streams += found.streams;
            all.bytes += found.bytes;
            all.ages.extend(found.ages);
            all.faults.extend(found.faults);
        }
        all
    });
    let tokens = shared.tokens.load(Ordering::Relaxed).max(1);
    Ok(Row { way, found, cpu: (server.cpu() - before) * 1e6 / tokens as f64, memory })
}

/// The most memory in the middle third of the time and in its last third, if that is more by a tenth and by 4 MiB.
fn growth(memory: &[u64]) -> Option<(u64, u64)> {
    let third = memory.len() / 3;
    let most = |part: &[u64]| part.iter().max().copied().unwrap_or(0);
    let (middle, end) = (most(&memory[third..2 * third]), most(&memory[2 * third..]));
    (end > middle + middle / 10 && end > middle + 4096).then_some((middle, end))
}

fn report(load: &Load, rows: &[Row]) {
    println!("{} streams at once, {} s, {} tokens a second each:\n", load.streams, load.seconds, load.rate);
    println!(
        "| between client and model | streams | tokens | bytes checked | token age, median | 90 % | 99 % | CPU a token | memory after 1/3, 2/3, 3/3 |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|---|");
    for row in rows {
        let mut ages = row.found.ages.clone();
        ages.sort_unstable();
        let age = |part: f64| {
            let at = (ages.len() as f64 * part) as usize;
            ages.get(at.min(ages.len().saturating_sub(1))).map_or(0.0, |age| f64::from(*age) / 1000.0)
        };
        let count = row.memory.len();
        let memory = [count / 3, 2 * count / 3, count.saturating_sub(1)]
            .map(|at| row.memory.get(at).map_or(0.0, |size| *size as f64 / 1024.0));
        println!(
            "| {} | {} | {} | {} | {:.2} ms | {:.2} ms | {:.2} ms | {} | {:.1}, {:.1}, {:.1} MiB |",
            row.way,
            row.found.streams,
            ages.len(),
            row.found.bytes,
            age(0.5),
            age(0.9),
            age(0.99),
            if row.way == "nothing" { "-".to_owned() } else { format!("{:.1} µs", row.cpu) },
            memory[0],
            memory[1],
            memory[2],
        );
    }
    println!();
}
