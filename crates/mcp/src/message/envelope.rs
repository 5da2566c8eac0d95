//! The one pass over a message: collects the raw members we route by from the envelope and from `params`.

use super::scanner::{Broken, Scanner};
use super::span::Span;

/// Where the members found lie. The first spelling is kept of a member that comes twice.
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) jsonrpc: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) method: Option<Span>,
    pub(super) params: Option<Span>,
    pub(super) result: Option<Span>,
    pub(super) error: Option<Span>,
    pub(super) name: Option<Span>,
    pub(super) uri: Option<Span>,
    pub(super) task_id: Option<Span>,
    pub(super) cursor: Option<Span>,
    pub(super) meta: Option<Span>,
    pub(super) request_state: Option<Span>,
    /// The first member that came twice.
    pub(super) duplicate: Option<&'static str>,
}

impl Envelope {
    /// Reads a text that is one object.
    pub(super) fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Broken> {
        scanner.object(|scanner, key| {
            let wanted = match key.said().as_deref() {
                Some(b"jsonrpc") => Some((&mut self.jsonrpc, "jsonrpc")),
                Some(b"id") => Some((&mut self.id, "id")),
                Some(b"method") => Some((&mut self.method, "method")),
                Some(b"result") => Some((&mut self.result, "result")),
                Some(b"error") => Some((&mut self.error, "error")),
                Some(b"params") if self.params.is_none() && scanner.peek()? == b'{' => {
                    self.params = Some(self.read_params(scanner)?);
                    return Ok(());
                }
                Some(b"params") => Some((&mut self.params, "params")),
                _ => None,
            };
            let value = scanner.value()?;
            if let Some((slot, name)) = wanted {
                keep(slot, &mut self.duplicate, name, value);
            }
            Ok(())
        })?;
        scanner.end()
    }

    /// Reads `params` in place, so that its bytes are read once.
    fn read_params(&mut self, scanner: &mut Scanner<'_>) -> Result<Span, Broken> {
        scanner.object(|scanner, key| {
            let wanted = match key.said().as_deref() {
                Some(b"name") => Some((&mut self.name, "params.name")),
                Some(b"uri") => Some((&mut self.uri, "params.uri")),
                Some(b"taskId") => Some((&mut self.task_id, "params.taskId")),
                Some(b"cursor") => Some((&mut self.cursor, "params.cursor")),
                Some(b"_meta") => Some((&mut self.meta, "params._meta")),
                Some(b"requestState") => Some((&mut self.request_state, "params.requestState")),
                _ => None,
            };
            let value = scanner.value()?;
            if let Some((slot, name)) = wanted {
                keep(slot, &mut self.duplicate, name, value);
            }
            Ok(())
        })
    }
}

/// Keeps a member's value, or the fact that it came before.
fn keep(slot: &mut Option<Span>, duplicate: &mut Option<&'static str>, name: &'static str, value: Span) {
    if slot.is_none() {
        *slot = Some(value);
    } else {
        duplicate.get_or_insert(name);
    }
}
