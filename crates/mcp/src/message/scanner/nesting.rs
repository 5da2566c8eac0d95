//! Which brackets are open: a stack of bits that needs no memory of its own for the nesting we let through.

/// The open brackets, innermost last; a bit set for an object.
#[derive(Default)]
pub(super) struct Nesting {
    /// The innermost ones, up to 128, the last in the lowest bit.
    bits: u128,
    depth: usize,
    /// What found no room in `bits`, 128 at a time. Only a text that is refused as a message gets here.
    outer: Vec<u128>,
}

const BITS: usize = u128::BITS as usize;

impl Nesting {
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    pub(super) fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(BITS) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u128::from(is_object);
        self.depth += 1;
    }

    /// Tells whether the innermost bracket is an object's; `None` where none is open.
    #[inline]
    pub(super) fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(BITS) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}
