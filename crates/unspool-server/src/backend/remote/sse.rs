//! Server-sent events, as they come in: whatever the cuts of the bytes, and in whatever form servers write them.

/// Most bytes of one event. A longer one is no answer of a completions server.
pub(super) const LONGEST_EVENT: usize = 16 << 20;

/// An event is longer than [`LONGEST_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Takes bytes and gives the data of events. Lines may end with `\n`, `\r\n` or `\r`; comments and fields other than `data`
/// are passed over.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl EventReader {
    /// Takes more bytes; calls `event` with the data of each event that is complete.
    pub(super) fn push(&mut self, bytes: &[u8], event: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            if self.line.len() + self.data.len() + line.len() > LONGEST_EVENT {
                return Err(TooLong);
            }
            self.line.extend_from_slice(line);
            let Some((ending, after)) = after.split_first() else { break };
            self.after_return = *ending == b'\r';
            rest = after;
            self.end_line(event);
        }
        Ok(())
    }

    /// The bytes are over; some servers leave the last blank line out.
    pub(super) fn finish(&mut self, event: &mut impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            self.end_line(event);
        }
        self.end_event(event);
    }

    fn end_line(&mut self, event: &mut impl FnMut(&[u8])) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.end_event(event);
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        line.clear();
        self.line = line;
    }

    fn end_event(&mut self, event: &mut impl FnMut(&[u8])) {
        if std::mem::take(&mut self.has_data) {
            event(&self.data);
            self.data.clear();
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
