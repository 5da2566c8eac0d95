//! TLS towards backends: the platform's trust, more authorities where configured, HTTP/2 by ALPN.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Certificates that were to be trusted but cannot be.
#[derive(Debug, thiserror::Error)]
#[error("certificate authorities: {0}")]
pub struct BadRoots(String);

/// Makes the configuration all TLS connections share.
pub(crate) fn client_config(extra_roots: &[Vec<u8>]) -> Result<Arc<ClientConfig>, BadRoots> {
    let mut roots = Vec::new();
    for pem in extra_roots {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.push(certificate.map_err(|error| BadRoots(format!("not PEM: {error}")))?);
        }
        if roots.len() == before {
            return Err(BadRoots("a file holds no certificate".into()));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| BadRoots(error.to_string()))?;
    let has_extra = !roots.is_empty();
    let mut config = match rustls_platform_verifier::Verifier::new_with_extra_roots(roots, provider) {
        Ok(verifier) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
        Err(error) if has_extra => return Err(BadRoots(error.to_string())),
        // A machine without certificates can still reach its http backends.
        Err(error) => {
            tracing::warn!(%error, "the platform trusts no certificate authority; https backends will be refused");
            builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
