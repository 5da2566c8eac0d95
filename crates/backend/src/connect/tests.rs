use std::sync::Arc;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::pool::Backends;
use crate::stub::{endpoint, post, settings};

const ANYWHERE: AddressRule = AddressRule { allow_private: true };

/// A server with TLS that answers with the HTTP version it was asked in and counts its connections.
struct Secure {
    port: u16,
    authority: Vec<u8>,
    connections: Arc<std::sync::atomic::AtomicUsize>,
}

impl Secure {
    async fn start(protocols: &[&str]) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem().into_bytes();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections: Arc<std::sync::atomic::AtomicUsize> = Arc::default();
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let answer = service_fn(|request: Request<hyper::body::Incoming>| async move {
                        let (version, uri) = (request.version(), request.uri().clone());
                        let hosts = request.headers().get_all("host").iter().count();
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        let text = format!("{version:?} {} {hosts}", uri.path());
                        Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(text))))
                    });
                    let _ = auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
        });
        Self { port, authority, connections }
    }

    fn endpoint(&self, host: &str) -> Endpoint {
        endpoint(&format!("https://{host}:{}/mcp", self.port))
    }

    fn trusting(&self) -> Backends {
        let mut trusting = Settings::new(std::slice::from_ref(&self.authority), ANYWHERE).unwrap();
        trusting.probe = Duration::from_secs(2);
        Backends::new(Arc::new(trusting))
    }

    fn connections(&self) -> usize {
        self.connections.load(std::sync::atomic::Ordering::SeqCst)
    }
}

async fn talk(backends: &Backends, endpoint: &Endpoint) -> Result<(Version, String), Error> {
    let response = backends.send(endpoint, post("{}")).await?;
    let version = response.version();
    let body = response.into_body().collect(1000).await?;
    Ok((version, String::from_utf8(body.to_vec()).unwrap()))
}

#[tokio::test]
async fn http2_shares_one_connection_also_when_all_come_at_once() {
    let server = Secure::start(&["h2", "http/1.1"]).await;
    let (backends, endpoint) = (server.trusting(), server.endpoint("localhost"));
    let all = futures_util::future::join_all((0..10).map(|_| talk(&backends, &endpoint))).await;
    for answer in all {
        assert_eq!(answer.unwrap(), (Version::HTTP_2, "HTTP/2.0 /mcp 0".into()));
    }
    talk(&backends, &endpoint).await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn http1_over_tls_keeps_its_connections() {
    let server = Secure::start(&["http/1.1"]).await;
    let (backends, endpoint) = (server.trusting(), server.endpoint("localhost"));
    for _ in 0..3 {
        assert_eq!(talk(&backends, &endpoint).await.unwrap(), (Version::HTTP_11, "HTTP/1.1 /mcp 1".into()));
    }
    assert_eq!(server.connections(), 1);
    let all = futures_util::future::join_all((0..4).map(|_| talk(&backends, &endpoint))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn an_authority_nobody_trusts_and_a_wrong_name_are_refused() {
    let server = Secure::start(&["h2"]).await;
    let strangers = Backends::new(Arc::new(settings()));
    let error = talk(&strangers, &server.endpoint("localhost")).await.unwrap_err();
    assert!(error.reason().starts_with("TLS: ") && !error.may_have_run(), "{error}");
    let error = talk(&server.trusting(), &server.endpoint("127.0.0.1")).await.unwrap_err();
    assert!(error.reason().starts_with("TLS: ") && !error.may_have_run(), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused() {
    let stub = crate::stub::Stub::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let endpoint = endpoint(&format!("https://127.0.0.1:{}/", stub.port));
    let mut short = settings();
    short.connect = Duration::from_millis(200);
    let error = Backends::new(Arc::new(short)).send(&endpoint, post("{}")).await.err().unwrap();
    assert!(!error.may_have_run(), "{error}");
}

#[test]
fn extra_authorities_are_checked() {
    for pem in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(Settings::new(&[pem.into()], ANYWHERE).is_err(), "{pem}");
    }
}

#[tokio::test]
async fn forbidden_addresses_are_refused_by_name_and_by_number() {
    let private = AddressRule { allow_private: false };
    let cases = [
        ("169.254.169.254", ANYWHERE, true),
        ("[fe80::1]", ANYWHERE, true),
        ("0.0.0.0", ANYWHERE, true),
        ("[::ffff:169.254.169.254]", ANYWHERE, true),
        ("127.0.0.1", private, true),
        ("localhost", private, true),
        ("10.1.2.3", private, true),
        ("127.0.0.1", ANYWHERE, false),
        ("localhost", ANYWHERE, false),
    ];
    for (host, rule, is_refused) in cases {
        let mut settings = settings();
        settings.address_rule = rule;
        let backends = Backends::new(Arc::new(settings));
        let error = backends.send(&endpoint(&format!("http://{host}:1/")), post("{}")).await.err().unwrap();
        assert_eq!(matches!(error, Error::ForbiddenAddress { .. }), is_refused, "{host}: {error}");
        assert!(!error.may_have_run());
        assert!(!is_refused || error.reason() == "address refused");
    }
}
