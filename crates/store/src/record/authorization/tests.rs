use std::sync::Arc;

use catalog::authorization::{Authorization, Flow};
use catalog::endpoint::{Endpoint, Secret};
use catalog::server::Version;

use crate::conformance::samples;
use crate::record::{Sealer, VersionRecord};

struct Reversing;

impl Sealer for Reversing {
    fn seal(&self, plain: &str) -> String {
        plain.chars().rev().collect()
    }

    fn open(&self, sealed: &str) -> Option<String> {
        Some(sealed.chars().rev().collect())
    }
}

fn version(authorization: Authorization) -> Version {
    let bare = samples::bare_version("v1");
    let endpoint = Endpoint { authorization: Some(Arc::new(authorization)), ..(*bare.endpoint).clone() };
    Version { endpoint: Arc::new(endpoint), ..bare }
}

fn authorization(flow: Flow) -> Authorization {
    let url = |path: &str| Some(format!("https://login.example.com/{path}").parse().unwrap());
    Authorization {
        flow,
        server: samples::path("/context7"),
        issuer: url("realm"),
        token_url: url("token"),
        authorization_url: url("authorize"),
        client_id: Secret::new("gateway-client"),
        client_secret: Some(Secret::new("s3cret-client")),
        scope: "read write".into(),
        resource: Some("https://mcp.example.com/mcp".into()),
        audience: Some("mcp".into()),
    }
}

#[test]
fn an_authorization_comes_back_as_it_was_and_its_client_lies_sealed() {
    for flow in Flow::ALL {
        let whole = authorization(flow);
        let bare = Authorization {
            issuer: None,
            authorization_url: None,
            client_secret: None,
            scope: String::new(),
            resource: None,
            audience: None,
            ..whole.clone()
        };
        for one in [whole, bare] {
            let version = version(one);
            let written =
                serde_json::to_string(&VersionRecord::of(&samples::path("/context7"), &version, &Reversing))
                    .unwrap();
            assert!(!written.contains("gateway-client") && !written.contains("s3cret"), "{written}");
            let read: VersionRecord = serde_json::from_str(&written).unwrap();
            assert_eq!(read.into_version(&Reversing).unwrap(), version);
        }
    }
}
