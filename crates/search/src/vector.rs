//! Vectors in small: a byte a number, as measured no worse to rank by than four, and four times as fast to go over.

/// The direction of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// What a unit of the numbers is worth, for a length of one.
    pub(crate) scale: f32,
    pub(crate) numbers: Box<[i8]>,
}

impl Vector {
    /// Returns the direction of these numbers; `None` where they have none.
    pub fn of(numbers: &[f32]) -> Option<Self> {
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        let most = numbers.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        if !length.is_normal() || !most.is_normal() {
            return None;
        }
        let unit = most / f32::from(i8::MAX);
        // A float beyond the range becomes its end.
        let numbers = numbers.iter().map(|number| (number / unit).round() as i8).collect();
        Some(Self { scale: unit / length, numbers })
    }

    /// Returns the cosine of the angle to another: 1 for the same meaning, 0 for nothing in common. Vectors of
    /// different models have nothing in common.
    pub(crate) fn likeness(&self, other: &Self) -> f32 {
        if self.numbers.len() != other.numbers.len() {
            return 0.0;
        }
        let each = self.numbers.iter().zip(&other.numbers);
        let sum: i32 = each.map(|(one, other)| i32::from(*one) * i32::from(*other)).sum();
        sum as f32 * self.scale * other.scale
    }

    /// Returns this vector moved towards the middle of others, which count by their weights.
    pub(crate) fn towards(&self, others: &[(f32, &Self)], share: f32) -> Self {
        let mut moved: Vec<f32> = self.numbers.iter().map(|one| f32::from(*one) * self.scale).collect();
        let weights: f32 = others.iter().map(|(weight, _)| weight).sum();
        let width = moved.len();
        for (weight, other) in others.iter().filter(|(_, other)| other.numbers.len() == width) {
            let factor = share * weight / weights * other.scale;
            moved.iter_mut().zip(&other.numbers).for_each(|(one, other)| *one += f32::from(*other) * factor);
        }
        Self::of(&moved).unwrap_or_else(|| self.clone())
    }

    /// Adds the signs of all numbers, a bit each.
    pub(crate) fn signs(&self, out: &mut Vec<u64>) {
        out.extend(self.numbers.chunks(64).map(|some| {
            let bits = some.iter().enumerate().map(|(place, number)| u64::from(*number < 0) << place);
            bits.sum::<u64>()
        }));
    }
}

#[cfg(test)]
mod tests;
