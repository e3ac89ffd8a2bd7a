//! The gateway over loopback: against recordings, the mock, a completions server that misbehaves, and stock clients.
#![allow(clippy::expect_used)]

mod answers;
mod backend;
mod budget;
mod chat;
mod chat_server;
mod clients;
mod common;
mod constraint;
mod context;
mod detect;
mod diagnostics;
mod errors;
mod expressions;
mod fake;
mod faults;
mod hosted;
mod hostile;
mod images;
mod interval;
mod lengths;
mod messages;
mod mock;
mod model;
mod overflow;
mod probabilities;
mod remote;
mod responses;
mod service;
mod startup;
mod system;
mod tls;
mod told;
mod turns;
