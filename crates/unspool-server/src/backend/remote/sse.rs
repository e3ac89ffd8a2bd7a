//! Parses server-sent events, however the bytes are split, in all forms that servers write.

use memchr::memchr2;

/// Maximum size of an event, in bytes. A longer one is not an answer of a completions server.
pub(super) const LONGEST_EVENT: usize = 16 << 20;

/// An event is longer than [`LONGEST_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Takes bytes and returns the data of events. Lines may end with `\n`, `\r\n` or `\r`; comments and fields other than
/// `data` are skipped. Complete events are passed without a copy; only partial ones are stored.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// The beginning of a line.
    line: Vec<u8>,
    /// The data of an incomplete event.
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl EventReader {
    /// Takes more bytes; calls `event` with the data of each complete event.
    pub(super) fn push(&mut self, bytes: &[u8], event: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        let mut rest = bytes;
        // The only data of an event so far, if it lies in these bytes.
        let mut whole = None;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            if self.line.len() + self.data.len() + whole.map_or(0, <[u8]>::len) + line.len() > LONGEST_EVENT {
                return Err(TooLong);
            }
            let Some((ending, after)) = after.split_first() else {
                self.line.extend_from_slice(line);
                break;
            };
            self.after_return = *ending == b'\r';
            rest = after;
            if self.line.is_empty() {
                self.line_of(line, &mut whole, event);
            } else {
                let mut begun = std::mem::take(&mut self.line);
                begun.extend_from_slice(line);
                self.keep(&mut whole);
                let mut cut = None;
                self.line_of(&begun, &mut cut, event);
                self.keep(&mut cut);
                begun.clear();
                self.line = begun;
            }
        }
        self.keep(&mut whole);
        Ok(())
    }

    /// Ends the bytes; some servers omit the last blank line.
    pub(super) fn finish(&mut self, event: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let mut whole = None;
            self.line_of(&line, &mut whole, event);
            self.keep(&mut whole);
        }
        self.end_event(None, event);
    }

    fn line_of<'a>(&mut self, line: &'a [u8], whole: &mut Option<&'a [u8]>, event: &mut impl FnMut(&[u8])) {
        let mark: &[u8] = b"\xef\xbb\xbf";
        let line =
            if std::mem::replace(&mut self.begun, true) { line } else { line.strip_prefix(mark).unwrap_or(line) };
        if line.is_empty() {
            return self.end_event(whole.take(), event);
        }
        let Some(data) = line.strip_prefix(b"data:") else { return };
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if self.has_data || whole.is_some() {
            self.keep(whole);
            self.data.push(b'\n');
            self.data.extend_from_slice(data);
        } else {
            *whole = Some(data);
        }
    }

    /// Stores the data of an event that continues after these bytes.
    fn keep(&mut self, whole: &mut Option<&[u8]>) {
        if let Some(data) = whole.take() {
            self.has_data = true;
            self.data.extend_from_slice(data);
        }
    }

    fn end_event(&mut self, whole: Option<&[u8]>, event: &mut impl FnMut(&[u8])) {
        match whole {
            Some(data) => event(data),
            None if std::mem::take(&mut self.has_data) => {
                event(&self.data);
                self.data.clear();
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(parts: &[&[u8]]) -> Vec<String> {
        let mut reader = EventReader::default();
        let mut out = Vec::new();
        let mut take = |data: &[u8]| out.push(String::from_utf8_lossy(data).into_owned());
        for part in parts {
            assert_eq!(reader.push(part, &mut take), Ok(()));
        }
        reader.finish(&mut take);
        out
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let input = "\u{feff}data: {\"a\": \"é🛶\"}\r\n\r\n: ping\n\nevent: x\ndata:two\rdata: lines\r\rid: 4\n\ndata\n\ndata: [DONE]".as_bytes();
        let expected = ["{\"a\": \"é🛶\"}", "two\nlines", "[DONE]"];
        assert_eq!(events(&[input]), expected);
        assert_eq!(events(&input.chunks(1).collect::<Vec<_>>()), expected);
        for cut in 0..=input.len() {
            let (a, b) = input.split_at(cut);
            assert_eq!(events(&[a, b]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = EventReader::default();
        let block = vec![b'x'; 1 << 20];
        let mut refused = false;
        for _ in 0..17 {
            refused |= reader.push(&block, &mut |_| {}).is_err();
        }
        assert!(refused);
        assert!(reader.line.len() <= LONGEST_EVENT);
    }
}
