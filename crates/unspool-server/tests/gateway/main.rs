//! The gateway over loopback: against recordings, the mock, a completions server that misbehaves, and a stock client.
#![allow(clippy::expect_used)]

mod backend;
mod chat;
mod common;
mod errors;
mod mock;
mod model;
mod openai_client;
mod remote;
