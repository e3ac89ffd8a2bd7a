//! https: who is let in, and that answers are finished when the gateway ends.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tokio::net::TcpListener;
use unspool_server::tls::{TlsListener, acceptor};
use unspool_server::{HttpConfig, ServeConfig};

use crate::common::{Folded, Gateway, file, pair, plain_chat};

/// Somebody who vouches for others.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there is randomness");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("it vouches for itself") }
    }

    /// A certificate and its key, in PEM.
    fn vouch(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("there is randomness");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("the name is one");
        let certificate = params.signed_by(&key, &self.issuer).expect("it can be signed");
        (certificate.pem(), key.serialize_pem())
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }
}

/// The flags of a gateway with a certificate for `localhost`.
fn https(authority: &Authority) -> HttpConfig {
    let (certificate, key) = authority.vouch("localhost");
    let named = |name: &str, text: &str| -> Option<PathBuf> { Some(file(name, text)) };
    HttpConfig {
        ssl_certfile: named("certificate.pem", &certificate),
        ssl_keyfile: named("key.pem", &key),
        ..HttpConfig::default()
    }
}

/// A client that trusts `authority`, and shows the certificate and key of `identity`.
fn client(authority: &Authority, identity: Option<(String, String)>) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).expect("it is a certificate");
    let mut builder = reqwest::Client::builder().no_proxy().tls_certs_only([root]);
    if let Some((certificate, key)) = identity {
        let pem = format!("{certificate}{key}");
        builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).expect("it is an identity"));
    }
    builder.build().expect("a client can be made")
}

async fn start(config: ServeConfig, client: reqwest::Client) -> Gateway {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let port = listener.local_addr().expect("a listener has an address").port();
    let acceptor = acceptor(&config.http).expect("the files are right").expect("it is https");
    let base = format!("https://localhost:{port}");
    Gateway::on(TlsListener::new(listener, acceptor), &config, (base, client))
}

#[tokio::test]
async fn a_stream_is_served_over_https_and_finished_when_the_gateway_ends() {
    let authority = Authority::new();
    let config = ServeConfig { mock_rate: 100.0, http: https(&authority), ..pair("qwen3", "hermes") };
    let mut gateway = start(config, client(&authority, None)).await;
    let mut response = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true, "seed": 3}))).await;
    assert_eq!(response.status(), 200);
    let first = response.chunk().await.expect("the stream can be read").expect("it has begun");
    gateway.tell();
    let mut text = String::from_utf8(first.to_vec()).expect("events are text");
    while let Some(chunk) = response.chunk().await.expect("nothing breaks off") {
        text.push_str(std::str::from_utf8(&chunk).expect("events are text"));
    }
    assert_eq!(Folded::of(&text).one().finish.as_deref(), Some("stop"), "{text}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_shake_hands_keeps_nobody_waiting() {
    let authority = Authority::new();
    let config = ServeConfig { http: https(&authority), ..ServeConfig::default() };
    let gateway = start(config, client(&authority, None)).await;
    let address = gateway.base.replace("https://", "");
    let silent = tokio::net::TcpStream::connect(&address).await.expect("the gateway listens");
    let health = gateway.client.get(format!("{}/health", gateway.base)).send().await.expect("the gateway answers");
    assert_eq!(health.status(), 200);
    let plain = crate::common::client().get(format!("http://{address}/health")).send().await;
    assert!(plain.is_err(), "without TLS there is no answer");
    drop(silent);
    gateway.stop().await;
}

#[tokio::test]
async fn clients_are_asked_who_they_are() {
    let (authority, others) = (Authority::new(), Authority::new());
    for (asked, with_none, with_foreign) in [(2, false, false), (1, true, false)] {
        let http = HttpConfig {
            ssl_ca_certs: Some(file("authority.pem", &authority.pem())),
            ssl_cert_reqs: asked,
            ..https(&authority)
        };
        let config = ServeConfig { http, ..ServeConfig::default() };
        let gateway = start(config, client(&authority, Some(authority.vouch("client")))).await;
        let url = format!("{}/health", gateway.base);
        assert_eq!(gateway.client.get(&url).send().await.expect("a known client is let in").status(), 200);
        let nobody = client(&authority, None).get(&url).send().await;
        assert_eq!(nobody.is_ok(), with_none, "--ssl-cert-reqs {asked}");
        let stranger = client(&authority, Some(others.vouch("client"))).get(&url).send().await;
        assert_eq!(stranger.is_ok(), with_foreign, "--ssl-cert-reqs {asked}");
        gateway.stop().await;
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_a_hint() {
    let authority = Authority::new();
    let good = https(&authority);
    let junk = || Some(file("junk.pem", "-----BEGIN NOTHING-----\nsecret\n-----END NOTHING-----\n"));
    let other = || Some(file("other.pem", &authority.vouch("localhost").1));
    let missing = || Some(PathBuf::from("no/such/file.pem"));
    let clients = |file| HttpConfig { ssl_ca_certs: file, ssl_cert_reqs: 2, ..good.clone() };
    for (config, part) in [
        (HttpConfig { ssl_certfile: missing(), ..good.clone() }, "--ssl-certfile: cannot read no/such/file.pem"),
        (HttpConfig { ssl_keyfile: missing(), ..good.clone() }, "--ssl-keyfile: cannot read no/such/file.pem"),
        (HttpConfig { ssl_certfile: junk(), ..good.clone() }, "there is no certificate in it"),
        (HttpConfig { ssl_keyfile: junk(), ..good.clone() }, "holds no private key"),
        (HttpConfig { ssl_keyfile: other(), ..good.clone() }, "cannot be used together"),
        (clients(missing()), "--ssl-ca-certs: cannot read"),
        (clients(junk()), "--ssl-ca-certs: "),
    ] {
        let Err(error) = acceptor(&config) else { panic!("{part}") };
        assert!(error.message.contains(part) && error.hint.is_some(), "{part}: {error}");
        assert!(!error.message.contains("secret"), "{error}");
    }
    assert!(acceptor(&HttpConfig::default()).is_ok_and(|none| none.is_none()));
}
