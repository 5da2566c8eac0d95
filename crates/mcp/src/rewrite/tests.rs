//! Splices against a plain concatenation.

use proptest::prelude::*;

use super::*;

fn edit(start: u32, end: u32, with: &'static str) -> Edit {
    Edit { at: Span { start, end }, with: Bytes::from_static(with.as_bytes()) }
}

#[test]
fn replaces_inserts_and_removes() {
    let check = |mut edits: Vec<Edit>, expected: &str| {
        assert_eq!(splice(&Bytes::from_static(b"0123456789"), &mut edits), expected);
    };
    check(vec![], "0123456789");
    check(vec![edit(2, 4, "abc")], "01abc456789");
    check(vec![edit(8, 10, "z"), edit(0, 1, "")], "1234567z");
    check(vec![edit(10, 10, "!"), edit(0, 0, "?")], "?0123456789!");
    check(vec![edit(5, 5, "a"), edit(5, 5, "b")], "01234ab56789");
    check(vec![edit(5, 6, "x"), edit(5, 5, "a"), edit(3, 5, "y")], "012yax6789");
    check(vec![edit(0, 10, "")], "");
}

#[test]
fn shares_the_body_where_nothing_changes() {
    let body = Bytes::from_static(b"{}");
    assert_eq!(splice(&body, &mut []).as_ptr(), body.as_ptr());
}

#[test]
#[cfg_attr(debug_assertions, should_panic = "overlaps another")]
fn leaves_out_the_later_of_two_that_overlap() {
    let mut edits = [edit(2, 5, "a"), edit(4, 6, "b"), edit(9, 12, "c")];
    assert_eq!(splice(&Bytes::from_static(b"0123456789"), &mut edits), "01a56789");
}

proptest! {
    #[test]
    fn equals_a_concatenation(parts in prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>(), any::<Vec<u8>>()), 0..6), turn: u8) {
        let (mut body, mut expected, mut edits) = (Vec::new(), Vec::new(), Vec::new());
        for (kept, old, new) in parts {
            body.extend_from_slice(&kept);
            let start = body.len() as u32;
            body.extend_from_slice(&old);
            edits.push(Edit { at: Span { start, end: body.len() as u32 }, with: new.clone().into() });
            expected.extend_from_slice(&kept);
            expected.extend_from_slice(&new);
        }
        // Only where no two begin at one place does the order they come in not matter.
        if edits.windows(2).all(|pair| pair[0].at.start < pair[1].at.start) {
            let turn = usize::from(turn) % edits.len().max(1);
            edits.rotate_left(turn);
        }
        prop_assert_eq!(splice(&body.into(), &mut edits), expected);
    }
}
