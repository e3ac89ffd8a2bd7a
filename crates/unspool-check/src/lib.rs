//! Compares what a model is given, and what it writes, with a pair of parsers, and reports differences.
//!
//! | module | what it does |
//! |---|---|
//! | [`template`] | compares a chat template with a pair, or two templates with each other |
//! | [`diagnose`] | why calls or reasoning do not arrive: nine checks, a ranking of all formats, one verdict |
//! | [`calls`] | what is wrong with a call |
//! | [`kit`] | tests for a format file under development |
//! | [`names`] | the right names for a model |
//! | [`write`](mod@write) | writes chat templates from format files |
//! | [`marks`] | the literals of a pair, and texts that resemble them |

mod border;
pub mod calls;
pub mod diagnose;
pub mod kit;
pub mod marks;
pub mod names;
pub mod template;
pub mod write;
