//! Tools for writing a format file: a draft from sample output, and tests.

mod arrange;
mod cases;
mod draft;
mod examples;
mod guess;
mod laws;
mod new;
mod reading;
mod schema;
mod texts;
mod trial;
mod turns;
mod use_of_words;
mod writing;

pub use arrange::arranged;
pub use cases::{cases, pytest};
pub use new::{Made, Wanted, new};
pub use schema::schema;
pub use trial::{Effort, Line, Step, Tested, test};
