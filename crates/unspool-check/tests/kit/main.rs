//! The kit for writing a format file.
#![allow(clippy::expect_used, clippy::print_stderr)]

mod new;
mod trial;
