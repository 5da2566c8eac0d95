//! The things that the official conformance suite asks a server for, as its scenarios describe them.

mod asking;
mod things;
mod tools;

use serde_json::json;

use crate::script::Script;

/// Which of the things a backend offers: halves are for composing them again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// All.
    Whole,
    /// Every other thing, from the first on.
    FirstHalf,
    /// Every other thing, from the second on.
    SecondHalf,
}

/// Lets a backend offer them: `LegacyBackend::start("fixture").with(|script| offer(script, Part::Whole))`.
pub fn offer(script: &mut Script, part: Part) {
    let mut tools = tools::plain();
    tools.extend(tools::moving());
    tools.extend(asking::of_the_older_revisions());
    tools.extend(asking::of_the_newer_revision());
    tools.push(tools::hanging_up());
    script.tools = part.of(tools);
    let prompts = part.of(things::prompts());
    script.prompt_steps = prompts.iter().map(|(prompt, steps)| (name(prompt), steps.clone())).collect();
    script.prompts = prompts.into_iter().map(|(prompt, _)| prompt).collect();
    script.resources = part.of(things::resources());
    script.templates = match part {
        Part::FirstHalf => Vec::new(),
        Part::Whole | Part::SecondHalf => things::templates(),
    };
    script.contents = Some(match part {
        Part::Whole => things::contents,
        Part::FirstHalf => things::contents_of_the_first_half,
        Part::SecondHalf => things::contents_of_the_second_half,
    });
    script.capabilities = Some(json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "logging": {},
        "completions": {},
    }));
    script.only_local = true;
}

impl Part {
    fn of<T>(self, things: Vec<T>) -> Vec<T> {
        let wanted = |index: usize| match self {
            Self::Whole => true,
            Self::FirstHalf => index.is_multiple_of(2),
            Self::SecondHalf => !index.is_multiple_of(2),
        };
        things.into_iter().enumerate().filter(|(index, _)| wanted(*index)).map(|(_, thing)| thing).collect()
    }
}

fn name(thing: &serde_json::Value) -> String {
    thing["name"].as_str().expect("it has a name").into()
}

#[cfg(test)]
mod tests;
