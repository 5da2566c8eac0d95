//! Text to words: splitting, folding, stemming, and words that say nothing.

/// Characters of a word that count; the rest of a longer one (encoded data, most often) does not help to find it.
const MAX_WORD_CHARS: usize = 64;

/// Words too common to find anything by, sorted. The last rows are German and Spanish.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could",
    "d", "das", "de", "del", "dem", "den", "der", "did", "die", "do", "does", "ein", "eine", "el", "for",
    "from", "fur", "had", "has", "have", "her", "his", "how", "i", "if", "im", "in", "into", "is", "it",
    "its", "la", "las", "ll", "los", "m", "me", "mit", "my", "no", "not", "of", "on", "or", "our", "para",
    "please", "por", "re", "s", "she", "should", "so", "some", "t", "that", "the", "their", "them", "there",
    "these", "they", "this", "those", "to", "und", "us", "using", "ve", "via", "von", "was", "we", "were",
    "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "y", "you", "your",
    "zu",
];

/// Words that nearly every name here holds.
const COMMON_IN_NAMES: [&str; 3] = ["mcp", "server", "servers"];

/// Hands out the words of a text, lower-case and without accents. A word in CamelCase comes whole, then in
/// `parts`; a run of Chinese, Japanese or Korean comes as its pairs of characters.
pub(crate) fn words(text: &str, mut take: impl FnMut(&str)) {
    split(text, |run| {
        let mut word = String::with_capacity(run.len());
        fold(run, &mut word);
        take(&word);
        if let Some(parts) = parts(run) {
            parts.iter().for_each(|part| take(part));
        }
    });
}

/// Hands out the runs of letters and digits of a text as they are written, pairs in place of ideographs.
pub(crate) fn split(text: &str, mut take: impl FnMut(&str)) {
    let (mut word, mut word_chars, mut pair) = (String::new(), 0, String::new());
    let mut pairs_taken = false;
    for c in text.chars().chain(std::iter::once(' ')) {
        let is_ideograph = is_ideograph(c);
        if is_ideograph {
            if pair.chars().count() == 2 {
                pair.remove(0);
            }
            pair.push(c);
            if pair.chars().count() == 2 {
                take(&pair);
                pairs_taken = true;
            }
        } else {
            if !pair.is_empty() && !pairs_taken {
                take(&pair);
            }
            pair.clear();
            pairs_taken = false;
        }
        if c.is_alphanumeric() && !is_ideograph {
            if word_chars < MAX_WORD_CHARS {
                word.push(c);
            }
            word_chars += 1;
        } else if !word.is_empty() {
            take(&word);
            word.clear();
            word_chars = 0;
        }
    }
}

/// Returns the parts of a word in CamelCase, folded; `None` where it has one part only.
pub(crate) fn parts(run: &str) -> Option<Vec<String>> {
    if !run.chars().skip(1).any(char::is_uppercase) || !run.chars().any(char::is_lowercase) {
        return None;
    }
    let chars: Vec<char> = run.chars().collect();
    let (mut parts, mut start) = (Vec::new(), 0);
    for at in 1..=chars.len() {
        // Before an upper-case letter that follows a lower-case one, or that begins a word after capitals.
        let is_end = at == chars.len()
            || chars[at].is_uppercase()
                && (!chars[at - 1].is_uppercase() || chars.get(at + 1).is_some_and(|c| c.is_lowercase()));
        if is_end {
            let mut part = String::new();
            fold(&chars[start..at].iter().collect::<String>(), &mut part);
            parts.push(part);
            start = at;
        }
    }
    (parts.len() > 1).then_some(parts)
}

/// Adds a text in lower case and without the accents of Latin letters.
pub(crate) fn fold(text: &str, out: &mut String) {
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'à'..='å' | 'ā' | 'ă' | 'ą' => out.push('a'),
            'ç' | 'ć' | 'č' => out.push('c'),
            'è'..='ë' | 'ē' | 'ę' | 'ě' => out.push('e'),
            'ì'..='ï' | 'ī' | 'ı' => out.push('i'),
            'ñ' | 'ń' | 'ň' => out.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => out.push('o'),
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => out.push('u'),
            'ý' | 'ÿ' => out.push('y'),
            'ł' => out.push('l'),
            'ś' | 'š' | 'ş' => out.push('s'),
            'ź' | 'ż' | 'ž' => out.push('z'),
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            // What an upper-case letter with a dot leaves behind.
            '\u{307}' => {}
            c => out.push(c),
        }
    }
}

/// Says whether a word is too common to find anything by.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Says whether nearly every name here holds a word.
pub(crate) fn is_common_in_names(word: &str) -> bool {
    COMMON_IN_NAMES.contains(&word)
}

/// Returns the stem that forms of an English word share: without plural, -ing, -ed and a last -e.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.into();
    }
    let mut stem = singular(word);
    for ending in ["ing", "ed"] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= 3
            && rest.bytes().any(|b| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
        {
            let bytes = rest.as_bytes();
            let last = bytes[bytes.len() - 1];
            // A consonant doubled for the ending: planning, plan. Not those that are doubled anyway: calling.
            let is_doubled = last == bytes[bytes.len() - 2] && !b"aeioulsz".contains(&last);
            stem = rest[..rest.len() - usize::from(is_doubled)].into();
            break;
        }
    }
    if stem.len() >= 4 && stem.ends_with('e') && !stem.ends_with("ee") {
        stem.pop();
    }
    if stem.len() >= 4 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

fn singular(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() >= 2) {
        return format!("{rest}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].into();
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest.into(),
        _ => word.into(),
    }
}

/// Returns a name as people compare names: `@brave/search-mcp` and `Brave Search` are the same.
pub(crate) fn key(name: &str) -> String {
    let (mut short, mut whole) = (String::new(), String::new());
    split(name, |run| {
        let mut word = String::new();
        fold(run, &mut word);
        whole.push_str(&word);
        if !is_common_in_names(&word) {
            short.push_str(&word);
        }
    });
    if short.is_empty() { whole } else { short }
}

/// Says whether a character belongs to a script that writes no blanks between words, or few.
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests;
