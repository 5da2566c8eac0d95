//! Where a block of an event stream ends, found a chunk at a time.

/// What the bytes seen so far mean for the next one.
///
/// A line ends with LF, CRLF or CR, a block with an empty line. The LF after a CR may come in a later chunk, or
/// never, so it matters how the line before the empty one ended: if with a bare CR, the block ends at once with
/// the empty line's CR; if not, one more byte is awaited. So blocks do not depend on how the stream was cut, and
/// a stream with CR alone is not held back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Boundary {
    /// At the start of a line; the line end before was not a bare CR.
    #[default]
    LineStart,
    /// At the start of a line after a bare CR.
    LineStartAfterCr,
    /// Inside a line.
    Line,
    /// After the CR that ends a line; an LF would belong to it.
    LineCr,
    /// After the CR that is the empty line; an LF would belong to it.
    EmptyCr,
    /// At the start of a block, after one that ended with bare CRs; an LF still belongs to its end.
    BlockStartAfterCr,
}

impl Boundary {
    /// Reads on through `chunk`; returns the offset after the block's last byte where it ends here. That is 0
    /// where this chunk's first byte shows that the block was complete before.
    pub(super) fn find(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            match (*self, byte) {
                (Boundary::LineStart | Boundary::LineStartAfterCr, b'\n') => {
                    *self = Boundary::LineStart;
                    return Some(at + 1);
                }
                (Boundary::LineStart, b'\r') => *self = Boundary::EmptyCr,
                (Boundary::LineStartAfterCr, b'\r') => {
                    *self = Boundary::BlockStartAfterCr;
                    return Some(at + 1);
                }
                (Boundary::LineStart | Boundary::LineStartAfterCr | Boundary::Line, _) => {
                    let Some(end) = memchr::memchr2(b'\n', b'\r', &chunk[at..]) else {
                        *self = Boundary::Line;
                        return None;
                    };
                    at += end;
                    *self = if chunk[at] == b'\n' { Boundary::LineStart } else { Boundary::LineCr };
                }
                (Boundary::EmptyCr, _) => {
                    *self = Boundary::LineStart;
                    return Some(if byte == b'\n' { at + 1 } else { at });
                }
                (Boundary::LineCr | Boundary::BlockStartAfterCr, b'\n') => *self = Boundary::LineStart,
                (Boundary::LineCr | Boundary::BlockStartAfterCr, _) => {
                    // The byte is looked at again, as the first of a line.
                    *self = Boundary::LineStartAfterCr;
                    continue;
                }
            }
            at += 1;
        }
        None
    }
}
