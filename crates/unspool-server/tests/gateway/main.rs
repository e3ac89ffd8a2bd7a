//! The gateway over loopback: against recordings, the mock, a completions server that misbehaves, and a stock client.
#![allow(clippy::expect_used)]

mod backend;
mod chat;
mod common;
mod errors;
mod messages;
mod mock;
mod openai_client;
