//! Where settings come from: a file, the environment, flags.

use std::path::PathBuf;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Metadata, Profile, Provider};

use super::Faults;
use super::known::Known;

/// Read from the working directory unless another file is named.
pub(crate) const DEFAULT_FILE: &str = "switchyard.toml";

/// What the environment's names begin with.
const PREFIX: &str = "SWITCHYARD_";

/// Names with the prefix that are no settings but options of the command line.
const NOT_SETTINGS: [&str; 4] = ["CONFIG", "URL", "TOKEN", "TOKEN_FILE"];

/// The places to read settings from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The file that was named; must exist. Without one, `switchyard.toml` is read if it is there.
    pub(crate) file: Option<PathBuf>,
    /// Names and values of the environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Flags as `section.key` and what they were given.
    pub(crate) flags: Vec<(String, String)>,
}

/// One setting and who gave it, so that a complaint can say so.
pub(super) struct Setting {
    key: String,
    text: String,
    source: String,
}

/// One layer of settings, as figment wants it.
pub(super) enum Layer {
    File(figment::providers::Data<Toml>),
    Single(Setting),
}

impl Sources {
    /// Reads all layers, the weakest first, and complains of keys that there are not. A strange name in the
    /// environment only earns a warning: other software puts names there too.
    pub(super) fn read(&self, known: &Known) -> Result<(Vec<Layer>, Vec<String>), Faults> {
        let (mut layers, mut faults, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(file) = self.file()? {
            let name = file.display().to_string();
            let toml = Toml::file_exact(&file);
            let tables = toml.data().map_err(|error| Faults(vec![error.to_string()]))?;
            for dict in tables.values() {
                faults.extend(known.faults(dict, &name));
            }
            layers.push(Layer::File(toml));
        }
        for (name, text) in &self.environment {
            let Some(rest) = name.strip_prefix(PREFIX).filter(|rest| !NOT_SETTINGS.contains(rest)) else {
                continue;
            };
            let key = key_of(rest);
            if known.has(&key) {
                let source = format!("environment variable {name}");
                layers.push(Layer::Single(Setting { key, text: text.clone(), source }));
            } else {
                warnings.push(format!(
                    "{} (ignored)",
                    known.fault(&key, &format!("environment variable {name}"))
                ));
            }
        }
        for (key, text) in &self.flags {
            if known.has(key) {
                let source = format!("the command line ({key})");
                layers.push(Layer::Single(Setting { key: key.clone(), text: text.clone(), source }));
            } else {
                faults.push(known.fault(key, "command line"));
            }
        }
        if faults.is_empty() { Ok((layers, warnings)) } else { Err(Faults(faults)) }
    }

    fn file(&self) -> Result<Option<PathBuf>, Faults> {
        match &self.file {
            Some(file) if file.is_file() => Ok(Some(file.clone())),
            Some(file) => Err(Faults(vec![format!("there is no configuration file {}", file.display())])),
            None => Ok(Some(PathBuf::from(DEFAULT_FILE)).filter(|file| file.is_file())),
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        match self {
            Self::File(toml) => toml.metadata(),
            Self::Single(setting) => Metadata::named(setting.source.clone()),
        }
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        match self {
            Self::File(toml) => toml.data(),
            Self::Single(setting) => {
                let value: Value = setting.text.parse().unwrap_or_else(|never| match never {});
                let nested = figment::util::nest(&setting.key, value);
                Ok(Map::from([(Profile::Default, nested.into_dict().unwrap_or_default())]))
            }
        }
    }
}

/// `BACKENDS__ALLOW_PRIVATE` is `backends.allow_private`; a name without a section is one of `server`.
fn key_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    if name.contains("__") { name.replacen("__", ".", 1) } else { format!("server.{name}") }
}
