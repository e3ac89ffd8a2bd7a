//! What one needs to write a format file: tests of it, and cases for others.

mod examples;
mod laws;
mod reading;
mod texts;
mod trial;
mod use_of_words;
mod writing;

pub use trial::{Effort, Line, Step, Tested, test};
