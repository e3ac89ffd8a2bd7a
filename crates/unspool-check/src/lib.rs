//! Holds what a model is given and what it writes against a pair of parsers, and says what does not fit.
//!
//! | module | what it does |
//! |---|---|
//! | [`template`] | a chat template against a pair; two templates against each other |
//! | [`marks`] | the literals of a pair, and texts that only look like them |

pub mod marks;
pub mod template;
