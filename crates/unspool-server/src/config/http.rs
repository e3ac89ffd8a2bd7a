//! The settings of HTTP, with vLLM's names.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method};

use crate::bounds::BodyBounds;
use crate::error::StartupError;

/// Default maximum size of a request body, in bytes.
///
/// A conversation of a million tokens takes about 5 MB, or 12 MB if every character is escaped.
const LONGEST_BODY: usize = 16 << 20;

/// Seconds of silence after which a stream sends a keep-alive: proxies and clients often wait 30 or 60 seconds.
const KEEP_ALIVE: i64 = 15;

/// Settings of the listener, and of the headers of answers.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "HTTP"))]
pub struct HttpConfig {
    /// Unix socket to listen on, in place of host and port
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH"))]
    pub uds: Option<PathBuf>,

    /// Certificate chain of the gateway, in PEM; with --ssl-keyfile it serves HTTPS
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub ssl_certfile: Option<PathBuf>,

    /// Private key of the certificate, in PEM, without a password
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub ssl_keyfile: Option<PathBuf>,

    /// CA certificates for client certificates, in PEM; for --ssl-cert-reqs 1 and 2
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub ssl_ca_certs: Option<PathBuf>,

    /// Client certificates: 0 not requested, 1 optional, 2 required
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 0))]
    pub ssl_cert_reqs: u8,

    /// Path prefix that a proxy adds, such as `/llm`; requests with and without it work
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH"))]
    pub root_path: Option<String>,

    /// Origins of web pages that may use the gateway (CORS), as a JSON list; `["*"]`: all
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON", default_value = "[]"))]
    pub allowed_origins: JsonList,

    /// Methods that they may use, as a JSON list
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON", default_value = "[\"*\"]"))]
    pub allowed_methods: JsonList,

    /// Headers that they may send, as a JSON list
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON", default_value = "[\"*\"]"))]
    pub allowed_headers: JsonList,

    /// Allow web pages to send cookies and credentials
    #[cfg_attr(feature = "clap", arg(long))]
    pub allow_credentials: bool,

    /// Add the header `X-Request-Id` to answers: the request's own, or a new one
    #[cfg_attr(feature = "clap", arg(long))]
    pub enable_request_id_headers: bool,

    /// Seconds of silence after which a stream sends a keep-alive; 0: never
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SECONDS", default_value_t = KEEP_ALIVE, allow_negative_numbers = true)
    )]
    pub sse_keep_alive_interval: i64,

    /// Maximum size of a request body, in bytes
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = LONGEST_BODY))]
    pub max_body_size: usize,

    /// Maximum number of messages in a request
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 10_000))]
    pub max_messages: usize,

    /// Maximum number of tools in a request
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 1024))]
    pub max_tools: usize,

    /// Maximum number of parts of all messages in a request
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 10_000))]
    pub max_parts: usize,

    /// Seconds for the headers of a request, and between two pieces of its body; 0: no limit
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value_t = 60))]
    pub request_timeout: u64,

    /// Seconds that a connection may stay open without a request; 0: no limit
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value_t = 75))]
    pub idle_timeout: u64,

    /// Seconds for running answers to finish at shutdown
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value_t = 30))]
    pub shutdown_timeout: u64,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            uds: None,
            ssl_certfile: None,
            ssl_keyfile: None,
            ssl_ca_certs: None,
            ssl_cert_reqs: 0,
            root_path: None,
            allowed_origins: JsonList::default(),
            allowed_methods: JsonList::all(),
            allowed_headers: JsonList::all(),
            allow_credentials: false,
            enable_request_id_headers: false,
            sse_keep_alive_interval: KEEP_ALIVE,
            max_body_size: LONGEST_BODY,
            max_messages: 10_000,
            max_tools: 1024,
            max_parts: 10_000,
            request_timeout: 60,
            idle_timeout: 75,
            shutdown_timeout: 30,
        }
    }
}

impl HttpConfig {
    /// Checks the settings without opening anything.
    ///
    /// # Errors
    /// A value out of range, or an invalid name of a header or a method.
    pub fn check(&self) -> Result<(), StartupError> {
        if self.sse_keep_alive_interval < 0 {
            let message =
                format!("--sse-keep-alive-interval is {}; it must be 0 or more", self.sse_keep_alive_interval);
            return Err(StartupError::new(message).hint("0 says nothing"));
        }
        if self.max_body_size == 0 {
            return Err(StartupError::new("--max-body-size is 0; it must be 1 or more")
                .hint(format!("the default is {LONGEST_BODY} bytes")));
        }
        self.check_ssl()?;
        let wrong = |flag: &str, value: &str| {
            Err(StartupError::new(format!("{flag} holds {value:?}, which cannot be sent in a header"))
                .hint("it is a JSON list, for example '[\"https://example.com\"]'; '[\"*\"]' allows all"))
        };
        for (flag, list, fits) in [
            (
                "--allowed-origins",
                &self.allowed_origins,
                (|text| HeaderValue::from_str(text).is_ok()) as fn(&str) -> bool,
            ),
            ("--allowed-methods", &self.allowed_methods, |text| text.parse::<Method>().is_ok()),
            ("--allowed-headers", &self.allowed_headers, |text| text == "*" || text.parse::<HeaderName>().is_ok()),
        ] {
            if let Some(value) = list.0.iter().find(|value| !fits(value)) {
                return wrong(flag, value);
            }
        }
        match self.root_path.as_deref() {
            Some(path) if !path.is_empty() && (!path.starts_with('/') || path.contains(['{', '}', '*'])) => {
                Err(StartupError::new(format!("--root-path is {path:?}, which is no path of an address"))
                    .hint("it begins with a slash and has no braces and stars, for example /llm"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the TLS flags for contradictions.
    fn check_ssl(&self) -> Result<(), StartupError> {
        let fault = |message: &str, hint: &str| Err(StartupError::new(message).hint(hint));
        match (&self.ssl_certfile, &self.ssl_keyfile) {
            (Some(_), None) => {
                return fault(
                    "--ssl-certfile is set, but --ssl-keyfile is not",
                    "give the certificate's private key; if both are in one file, name it twice",
                );
            }
            (None, Some(_)) => {
                return fault("--ssl-keyfile is set, but --ssl-certfile is not", "give the key's certificate");
            }
            (Some(_), Some(_)) if self.uds.is_some() => {
                return fault(
                    "--uds is set beside --ssl-certfile, but a Unix socket is served without TLS",
                    "leave out --uds, or the flags of TLS",
                );
            }
            _ => {}
        }
        if self.ssl_certfile.is_none() && (self.ssl_ca_certs.is_some() || self.ssl_cert_reqs > 0) {
            return fault(
                "--ssl-ca-certs and --ssl-cert-reqs are about clients' certificates, but the gateway has none itself",
                "give its own with --ssl-certfile and --ssl-keyfile",
            );
        }
        match (self.ssl_cert_reqs, &self.ssl_ca_certs) {
            (0, Some(_)) => fault(
                "--ssl-ca-certs is set, but clients are not asked for a certificate",
                "ask them with --ssl-cert-reqs 2 (they must show one) or 1 (they may)",
            ),
            (1 | 2, None) => fault(
                "--ssl-cert-reqs asks clients for a certificate, but nobody vouches for them",
                "name the file with the certificates of those who do with --ssl-ca-certs",
            ),
            (0..=2, _) => Ok(()),
            (other, _) => fault(
                &format!("--ssl-cert-reqs is {other}; it must be 0, 1 or 2"),
                "0: clients are not asked for a certificate, 1: they may show one, 2: they must",
            ),
        }
    }

    /// The silence after which a stream sends a keep-alive.
    #[must_use]
    pub fn keep_alive(&self) -> Option<Duration> {
        u64::try_from(self.sse_keep_alive_interval).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// The limits of a body.
    #[must_use]
    pub fn bounds(&self) -> BodyBounds {
        BodyBounds { messages: self.max_messages, tools: self.max_tools, parts: self.max_parts }
    }

    /// The root path without its trailing slash; `None` if there is none.
    #[must_use]
    pub fn root(&self) -> Option<&str> {
        self.root_path.as_deref().map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty())
    }
}

/// A list of texts, written in JSON as in vLLM's flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonList(pub Vec<String>);

impl JsonList {
    /// The list that means everything.
    #[must_use]
    pub fn all() -> Self {
        Self(vec!["*".to_owned()])
    }

    /// Whether the list means everything.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.iter().any(|text| text == "*")
    }
}

impl FromStr for JsonList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| format!("it must be a JSON list of texts: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused() {
        let list = |text: &str| JsonList(vec![text.to_owned()]);
        for (config, flag) in [
            (HttpConfig { sse_keep_alive_interval: -1, ..HttpConfig::default() }, "--sse-keep-alive-interval"),
            (HttpConfig { max_body_size: 0, ..HttpConfig::default() }, "--max-body-size"),
            (HttpConfig { allowed_origins: list("a\nb"), ..HttpConfig::default() }, "--allowed-origins"),
            (HttpConfig { allowed_methods: list("a b"), ..HttpConfig::default() }, "--allowed-methods"),
            (HttpConfig { allowed_headers: list("ä"), ..HttpConfig::default() }, "--allowed-headers"),
            (HttpConfig { root_path: Some("llm".into()), ..HttpConfig::default() }, "--root-path"),
        ] {
            let error = config.check().expect_err(flag);
            assert!(error.message.contains(flag), "{error}");
        }
        let file = || Some(PathBuf::from("a.pem"));
        let tls = HttpConfig { ssl_certfile: file(), ssl_keyfile: file(), ..HttpConfig::default() };
        assert_eq!(tls.check(), Ok(()));
        for config in [
            HttpConfig { ssl_certfile: None, ..tls.clone() },
            HttpConfig { ssl_keyfile: None, ..tls.clone() },
            HttpConfig { uds: file(), ..tls.clone() },
            HttpConfig { ssl_ca_certs: file(), ..tls.clone() },
            HttpConfig { ssl_cert_reqs: 2, ..tls.clone() },
            HttpConfig { ssl_cert_reqs: 3, ssl_ca_certs: file(), ..tls.clone() },
            HttpConfig { ssl_cert_reqs: 2, ssl_ca_certs: file(), ..HttpConfig::default() },
        ] {
            let error = config.check().expect_err("it cannot work");
            assert!(error.message.contains("--ssl-") && error.hint.is_some(), "{error}");
        }
        let clients = HttpConfig { ssl_cert_reqs: 2, ssl_ca_certs: file(), ..tls };
        assert_eq!(clients.check(), Ok(()));
        assert_eq!(HttpConfig { root_path: Some("/".into()), ..HttpConfig::default() }.check(), Ok(()));
        assert_eq!("[\"a\", \"*\"]".parse::<JsonList>().map(|list| list.is_all()), Ok(true));
        assert!("*".parse::<JsonList>().is_err());
    }
}
