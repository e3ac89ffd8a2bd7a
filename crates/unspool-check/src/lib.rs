//! Compares what a model is given, and what it writes, with a pair of parsers, and reports differences.
//!
//! | module | what it does |
//! |---|---|
//! | [`template`] | a chat template against a pair; two templates against each other |
//! | [`diagnose`] | why calls or thoughts do not arrive: nine checks, a ranking of all formats, one verdict |
//! | [`calls`] | what is wrong with a call |
//! | [`kit`] | what one needs to write a format file: tests of it |
//! | [`names`] | which names are right for a model |
//! | [`write`](mod@write) | chat templates from format files |
//! | [`marks`] | the literals of a pair, and texts that only look like them |

mod border;
pub mod calls;
pub mod diagnose;
pub mod kit;
pub mod marks;
pub mod names;
pub mod template;
pub mod write;
