//! Lines of bounded length, and whether another one is already available.

use std::io::{self, BufRead, BufReader, Read};

/// The lines of an input.
pub(super) struct Lines<I> {
    input: I,
    longest: usize,
    line: Vec<u8>,
}

/// The next item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, including its end.
    Line(&'a [u8]),
    /// A line beyond the maximum length; it was skipped.
    TooLong,
    /// The end of the input.
    End,
}

/// Capacity to keep for the next line.
const KEPT: usize = 1 << 20;

impl<R: Read> Lines<BufReader<R>> {
    /// Lines of at most `longest` bytes.
    pub(super) fn new(input: BufReader<R>, longest: usize) -> Self {
        Self { input, longest, line: Vec::new() }
    }

    /// The maximum length of a line, in bytes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a line is available without waiting.
    pub(super) fn has_more(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    /// The next line.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        // One more byte for the end of the line.
        let most = u64::try_from(self.longest).unwrap_or(u64::MAX).saturating_add(1);
        if self.input.by_ref().take(most).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(Next::End);
        }
        if self.line.len() <= self.longest || self.line.ends_with(b"\n") {
            return Ok(Next::Line(&self.line));
        }
        self.pass_over()?;
        Ok(Next::TooLong)
    }

    fn pass_over(&mut self) -> io::Result<()> {
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(bytes.len(), |end| end + 1);
            self.input.consume(count);
            if end.is_some() || count == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_read() {
        let input = "abc\nabcd\nabc\r\nabcdefghi\n\nabcdef";
        for buffer in [1, 2, 100] {
            let mut lines = Lines::new(BufReader::with_capacity(buffer, input.as_bytes()), 4);
            let mut read = Vec::new();
            loop {
                match lines.next().expect("bytes can be read") {
                    Next::End => break,
                    Next::Line(line) => read.push(String::from_utf8_lossy(line).into_owned()),
                    Next::TooLong => read.push("too long".to_owned()),
                }
            }
            assert_eq!(read, ["abc\n", "abcd\n", "abc\r\n", "too long", "\n", "too long"], "{buffer}");
        }
    }

    #[test]
    fn what_is_there_already_is_known() {
        let mut lines = Lines::new(BufReader::new("a\nb\nc".as_bytes()), 4);
        assert!(!lines.has_more(), "nothing was read");
        assert_eq!(lines.next().ok(), Some(Next::Line(b"a\n")));
        assert!(lines.has_more());
        assert_eq!(lines.next().ok(), Some(Next::Line(b"b\n")));
        assert!(!lines.has_more(), "the end of the line may be still to come");
    }
}
