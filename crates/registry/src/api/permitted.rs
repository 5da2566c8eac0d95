//! Callers whom a scope document lets do one thing to a server (`ui_permissions`), though they are no administrators.
//!
//! What names a URL is not among these things: addresses that others than administrators give are another matter.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;

use super::error::Problem;
use super::extract::{AtServer, Caller};
use crate::Registry;

/// A caller who may do `A` to the server that the path of the request names. Fails with 403.
pub(crate) struct Permitted<A>(pub(crate) Caller, pub(crate) PhantomData<A>);

/// Something that may be done to a server.
pub(crate) trait Action {
    /// What scope documents call it.
    const NAME: &'static str;
}

/// Enables and disables it.
pub(crate) struct Toggle;

/// Asks its backend now.
pub(crate) struct CheckHealth;

/// Has another of its versions answer.
pub(crate) struct Modify;

impl Action for Toggle {
    const NAME: &'static str = "toggle_service";
}

impl Action for CheckHealth {
    const NAME: &'static str = "health_check_service";
}

impl Action for Modify {
    const NAME: &'static str = "modify_service";
}

impl<A: Action> FromRequestParts<Arc<Registry>> for Permitted<A> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Registry>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, registry).await?;
        if !caller.principal.is_admin {
            let AtServer(path) = AtServer::from_request_parts(parts, registry).await?;
            if !caller.is_permitted(A::NAME, &path) {
                let (who, action) = (&caller.principal.subject, A::NAME);
                let detail = format!(
                    "{who} is not an administrator, and no scope of theirs allows {action} on {path}"
                );
                return Err(Problem::new(StatusCode::FORBIDDEN, detail));
            }
        }
        Ok(Self(caller, PhantomData))
    }
}
