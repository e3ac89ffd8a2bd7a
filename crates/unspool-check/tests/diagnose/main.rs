//! Each cause of calls and thoughts that do not arrive, the forms of input, and the ranking over the outputs of the corpus.
#![allow(clippy::expect_used, clippy::print_stderr)]

mod causes;
mod inputs;
mod ranking;
