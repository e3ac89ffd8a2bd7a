use std::collections::HashMap;
use std::fmt::{self, Display};

/// A reading of one gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading<'a> {
    pub station: &'a str,
    pub minute: u32,
    pub level: f64,
}

#[derive(Debug)]
pub enum ReadError {
    Missing(&'static str),
    Number { field: &'static str, text: String },
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => write!(f, "no {field}"),
            Self::Number { field, text } => write!(f, "{field} is no number: {text:?}"),
        }
    }
}

fn number<T: std::str::FromStr>(field: &'static str, text: Option<&str>) -> Result<T, ReadError> {
    let text = text.ok_or(ReadError::Missing(field))?.trim();
    text.parse::<T>().map_err(|_| ReadError::Number { field, text: text.to_owned() })
}

impl<'a> Reading<'a> {
    pub fn parse(line: &'a str) -> Result<Self, ReadError> {
        let mut cells = line.split(',');
        let station = cells.next().filter(|s| !s.is_empty()).ok_or(ReadError::Missing("station"))?;
        Ok(Self { station, minute: number("minute", cells.next())?, level: number("level", cells.next())? })
    }
}

/// The highest level of each station, with the minute at which it was read.
pub fn highest<'a>(lines: &'a [String]) -> HashMap<&'a str, (u32, f64)> {
    let mut best: HashMap<&str, (u32, f64)> = HashMap::new();
    for reading in lines.iter().filter_map(|line| Reading::parse(line).ok()) {
        let entry = best.entry(reading.station).or_insert((reading.minute, f64::MIN));
        if reading.level > entry.1 && reading.minute < 24 * 60 {
            *entry = (reading.minute, reading.level);
        }
    }
    best.retain(|_, &mut (_, level)| level > -20.0 && level < 20.0);
    best
}
