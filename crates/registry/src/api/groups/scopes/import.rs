//! Scope documents as the original registry has them: one, a list of them, or its file of all scopes as JSON.

use std::collections::BTreeMap;

use catalog::error::{Invalid, Refusal};
use serde_json::{Map, Value};

use super::document::{Access, Document, Wanted, Words};

/// Most documents of one import.
const MAX_DOCUMENTS: usize = 1000;

/// The part of the original's file that holds what scopes allow in the registry.
const PERMISSIONS: &str = "UI-Scopes";
/// The part that says which group has which scopes.
const GROUPS: &str = "group_mappings";

/// Reads all documents of an import.
pub(super) fn read(body: Value) -> Result<Vec<Wanted>, Refusal> {
    let documents: Vec<Document> = match body {
        Value::Array(all) => all
            .into_iter()
            .enumerate()
            .map(|(at, one)| document(&format!("[{at}]"), one))
            .collect::<Result<_, _>>()?,
        Value::Object(file)
            if file.contains_key(PERMISSIONS) || file.get(GROUPS).is_some_and(Value::is_object) =>
        {
            of_file(file)?
        }
        one => vec![document("", one)?],
    };
    if documents.len() > MAX_DOCUMENTS {
        return Err(bad("", format!("has more than {MAX_DOCUMENTS} scopes")));
    }
    documents.into_iter().map(Document::read).collect()
}

/// `{"UI-Scopes": {scope: {permission: […]}}, "group_mappings": {group: [scope, …]}, scope: [{"server", …}, …], …}`
fn of_file(mut file: Map<String, Value>) -> Result<Vec<Document>, Refusal> {
    type Permissions = BTreeMap<String, BTreeMap<String, Words>>;
    let permissions = file.remove(PERMISSIONS).unwrap_or_else(|| Value::Object(Map::new()));
    let mut permissions: Permissions = part(PERMISSIONS, permissions)?;
    let groups = file.remove(GROUPS).unwrap_or_else(|| Value::Object(Map::new()));
    let groups: BTreeMap<String, Vec<String>> = part(GROUPS, groups)?;
    let mut access: BTreeMap<String, Vec<Access>> = BTreeMap::new();
    for (scope, entries) in file {
        let entries = part(&scope, entries)?;
        access.insert(scope, entries);
    }
    let mut names: Vec<String> = access.keys().chain(permissions.keys()).cloned().collect();
    names.extend(groups.values().flatten().cloned());
    names.sort();
    names.dedup();
    let documents = names.into_iter().map(|name| {
        let members =
            groups.iter().filter(|(_, scopes)| scopes.contains(&name)).map(|(group, _)| group.clone());
        let members = members.collect();
        let (access, permissions) = (access.remove(&name), permissions.remove(&name));
        Document::of_parts(name, access.unwrap_or_default(), permissions.unwrap_or_default(), Some(members))
    });
    Ok(documents.collect())
}

fn document(field: &str, value: Value) -> Result<Document, Refusal> {
    part(field, value)
}

fn part<T: serde::de::DeserializeOwned>(field: &str, value: Value) -> Result<T, Refusal> {
    serde_json::from_value(value).map_err(|error| bad(field, error.to_string()))
}

fn bad(field: &str, reason: String) -> Refusal {
    Refusal::Invalid(vec![Invalid::new(field, reason)])
}
