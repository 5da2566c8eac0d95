//! An argument's value in a header.

use std::borrow::Cow;

use http::HeaderValue;

use crate::headers::encode_name;
use crate::message::text;

/// Most zeros that are written behind an integer to spare a header the exponent of its argument.
const MOST_ZEROS: i64 = 20;

/// Says whether a raw JSON value has a spelling in headers: text, numbers and truth values do.
pub(super) fn is_mirrored(raw: &[u8]) -> bool {
    matches!(raw.first(), Some(b'"' | b't' | b'f' | b'-' | b'0'..=b'9'))
}

/// Writes a raw JSON value for a header; `None` where it has no spelling there.
pub(super) fn header(raw: &[u8]) -> Option<HeaderValue> {
    if !is_mirrored(raw) {
        return None;
    }
    let said = match raw.first() {
        Some(b'"') => text(raw)?,
        _ => match Decimal::read(raw).and_then(|number| number.integer()) {
            Some(integer) => Cow::Owned(integer),
            None => Cow::Borrowed(std::str::from_utf8(raw).ok()?),
        },
    };
    Some(encode_name(&said))
}

/// Says whether a decoded header says what a raw JSON value says. Numbers are compared as numbers.
pub(super) fn says(raw: &[u8], header: &str) -> bool {
    match raw.first() {
        Some(b'"') => text(raw).is_some_and(|text| text == header),
        Some(b'-' | b'0'..=b'9') => {
            let numbers = Decimal::read(raw).zip(Decimal::read(header.as_bytes()));
            raw == header.as_bytes() || numbers.is_some_and(|(one, other)| one == other)
        }
        _ => raw == header.as_bytes(),
    }
}

/// A number, exact: its digits without zeros around them, and the power of ten they are multiplied with.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    power: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` for anything else, and where the exponent is beyond all sense.
    fn read(number: &[u8]) -> Option<Self> {
        let (is_negative, number) = match number.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let mut halves = number.splitn(2, |byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = (halves.next()?, halves.next());
        let mut parts = mantissa.splitn(2, |byte| *byte == b'.');
        let (whole, fraction) = (parts.next()?, parts.next());
        let is_digits = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if !is_digits(whole) || whole.len() > 1 && whole[0] == b'0' || !fraction.is_none_or(is_digits) {
            return None;
        }
        let fraction = fraction.unwrap_or_default();
        let exponent =
            exponent.map_or(Some(0), |text| std::str::from_utf8(text).ok()?.parse::<i32>().ok())?;
        let mut power = i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
        let mut digits = [whole, fraction].concat();
        while digits.last() == Some(&b'0') {
            digits.pop();
            power += 1;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, power: 0 });
        }
        Some(Self { is_negative, digits, power })
    }

    /// Writes an integer in plain digits; `None` where it is none, or one that would be mostly zeros.
    fn integer(&self) -> Option<String> {
        if !(0..=MOST_ZEROS).contains(&self.power) {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        let digits = std::str::from_utf8(&self.digits).ok().filter(|digits| !digits.is_empty());
        let zeros = "0".repeat(self.power as usize);
        Some(format!("{sign}{}{zeros}", digits.unwrap_or("0")))
    }
}
