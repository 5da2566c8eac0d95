//! The `Date` of answers, made once a second.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of a date like `Sun, 06 Nov 1994 08:49:37 GMT`.
const LENGTH: usize = 29;

thread_local! {
    static LAST: RefCell<(u64, [u8; LENGTH])> = const { RefCell::new((0, *b"Thu, 01 Jan 1970 00:00:00 GMT")) };
}

/// Appends the date of this moment.
pub(crate) fn write(out: &mut Vec<u8>) {
    let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second {
            *last = second;
            let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
            // A date has this length up to the year 9999.
            let _ = write!(text.as_mut_slice(), "{date}");
        }
        out.extend_from_slice(text);
    });
}
