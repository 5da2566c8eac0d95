//! The table of methods.

/// A method of the protocol, of any revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table below gives each its name on the wire")]
pub enum Method {
    ToolsCall,
    ToolsList,
    Initialize,
    Ping,
    Discover,
    PromptsList,
    PromptsGet,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    Subscribe,
    Unsubscribe,
    Complete,
    SetLevel,
    Listen,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    TasksList,
    TasksResult,
    CreateMessage,
    Elicit,
    RootsList,
    Initialized,
    Cancelled,
    Progress,
    Message,
    ToolsListChanged,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    RootsListChanged,
    ElicitationComplete,
    /// Any name that is not in the table.
    Other,
}

/// The member of `params` that the header `Mcp-Name` repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirrored {
    /// `params.name`.
    Name,
    /// `params.uri`.
    Uri,
    /// `params.taskId`.
    TaskId,
}

impl Method {
    /// Finds the method of a decoded name; `Other` where it is not in the table.
    pub fn parse(name: &str) -> Method {
        Method::of(name.as_bytes())
    }

    /// Finds the method of a decoded name in bytes.
    pub(crate) fn of(name: &[u8]) -> Method {
        TABLE.iter().find(|(_, known)| known.as_bytes() == name).map_or(Method::Other, |(method, _)| *method)
    }

    /// Returns the name on the wire, empty for `Other`.
    pub fn as_str(self) -> &'static str {
        TABLE.get(self as usize).map_or("", |(_, name)| name)
    }

    /// Says whether revision 2026-07-28 has the method no more.
    pub fn is_removed(self) -> bool {
        matches!(
            self,
            Method::Initialize | Method::Ping | Method::SetLevel | Method::Subscribe | Method::Unsubscribe
        )
    }

    /// Returns what `Mcp-Name` repeats in a request of this method, where it is needed at all.
    pub fn mirrored(self) -> Option<Mirrored> {
        match self {
            Method::ToolsCall | Method::PromptsGet => Some(Mirrored::Name),
            Method::ResourcesRead => Some(Mirrored::Uri),
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => Some(Mirrored::TaskId),
            _ => None,
        }
    }
}

/// In the order of the enum, which has the most frequent first.
const TABLE: [(Method, &str); 33] = [
    (Method::ToolsCall, "tools/call"),
    (Method::ToolsList, "tools/list"),
    (Method::Initialize, "initialize"),
    (Method::Ping, "ping"),
    (Method::Discover, "server/discover"),
    (Method::PromptsList, "prompts/list"),
    (Method::PromptsGet, "prompts/get"),
    (Method::ResourcesList, "resources/list"),
    (Method::TemplatesList, "resources/templates/list"),
    (Method::ResourcesRead, "resources/read"),
    (Method::Subscribe, "resources/subscribe"),
    (Method::Unsubscribe, "resources/unsubscribe"),
    (Method::Complete, "completion/complete"),
    (Method::SetLevel, "logging/setLevel"),
    (Method::Listen, "subscriptions/listen"),
    (Method::TasksGet, "tasks/get"),
    (Method::TasksUpdate, "tasks/update"),
    (Method::TasksCancel, "tasks/cancel"),
    (Method::TasksList, "tasks/list"),
    (Method::TasksResult, "tasks/result"),
    (Method::CreateMessage, "sampling/createMessage"),
    (Method::Elicit, "elicitation/create"),
    (Method::RootsList, "roots/list"),
    (Method::Initialized, "notifications/initialized"),
    (Method::Cancelled, "notifications/cancelled"),
    (Method::Progress, "notifications/progress"),
    (Method::Message, "notifications/message"),
    (Method::ToolsListChanged, "notifications/tools/list_changed"),
    (Method::PromptsListChanged, "notifications/prompts/list_changed"),
    (Method::ResourcesListChanged, "notifications/resources/list_changed"),
    (Method::ResourceUpdated, "notifications/resources/updated"),
    (Method::RootsListChanged, "notifications/roots/list_changed"),
    (Method::ElicitationComplete, "notifications/elicitation/complete"),
];

#[cfg(test)]
mod tests;
