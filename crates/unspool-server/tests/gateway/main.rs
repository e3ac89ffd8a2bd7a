//! The gateway over loopback: against recordings, the mock, a completions server that misbehaves, and stock clients.
#![allow(clippy::expect_used)]

mod backend;
mod chat;
mod clients;
mod common;
mod errors;
mod faults;
mod messages;
mod mock;
mod model;
mod remote;
mod responses;
mod service;
mod told;
