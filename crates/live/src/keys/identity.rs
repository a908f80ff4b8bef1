//! The identity of a daemon: its certificate, and the names that it accepts from peers.
//!
//! It makes the TLS configurations of both sides.

use super::{KeyError, check_name, files};
use rustls::client::Resumption;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;

/// A daemon's certificate and key, and the authority that others must have theirs from. TLS 1.3
/// only, and no resumed sessions: every connection shows its certificate.
#[derive(Clone)]
pub struct Identity {
    name: String,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads `ca.pem`, `NAME.pem` and `NAME.key`, and checks that they belong together and are
    /// valid now.
    ///
    /// # Errors
    /// If a file is missing or invalid. The message names it, and the command that makes a missing
    /// one.
    pub fn load(dir: impl AsRef<Path>, name: &str) -> Result<Self, KeyError> {
        check_name(name)?;
        let dir = dir.as_ref();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let ca = dir.join("ca.pem");
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&ca)? {
            roots.add(certificate).map_err(|e| files::content(&ca, format!("no certificate of an authority: {e}")))?;
        }
        let roots = Arc::new(roots);
        let path = dir.join(format!("{name}.pem"));
        let chain = certificates(&path)?;
        let ours = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| files::content(&ca, e.to_string()))?;
        check_own(&chain, name, &*ours).map_err(|what| files::content(&path, what))?;

        let key_path = dir.join(format!("{name}.key"));
        let key = PrivateKeyDer::from_pem_slice(files::read(&key_path, true)?.as_bytes())
            .map_err(|e| files::content(&key_path, format!("no private key in PEM: {e}")))?;
        let client = client(&provider, &roots, &chain, &key).map_err(|e| fits(&key_path, e))?;
        let server = server(&provider, &roots, &chain, &key).map_err(|e| fits(&key_path, e))?;
        Ok(Self { name: name.to_owned(), client: Arc::new(client), server: Arc::new(server) })
    }

    /// The daemon's name, which is the only one in its certificate.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Configuration of a client. It requires a server certificate of the same authority with the
    /// expected name.
    pub fn client_config(&self) -> Arc<ClientConfig> {
        self.client.clone()
    }
    /// Configuration of a server. It requires a client certificate of the same authority;
    /// [`peer_name`] returns its name.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }
}

/// The authenticated name of a peer, from the first of `peer_certificates` of a rustls connection
/// after the handshake. Names that a peer states elsewhere are not authenticated.
///
/// # Errors
/// If there is no certificate, or it does not have exactly one valid name.
pub fn peer_name(certificates: Option<&[CertificateDer<'_>]>) -> Result<String, KeyError> {
    let tls = |what: String| KeyError::Tls { what };
    let certificate =
        certificates.and_then(<[_]>::first).ok_or_else(|| tls("the peer has shown no certificate".to_owned()))?;
    let certificate = webpki::EndEntityCert::try_from(certificate)
        .map_err(|e| tls(format!("the peer's certificate cannot be read: {e}")))?;
    let names: Vec<&str> = certificate.valid_dns_names().collect();
    match names[..] {
        [name] => check_name(name).map(|()| name.to_owned()),
        _ => Err(tls(format!("the peer's certificate has {} names, where one is allowed", names.len()))),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, KeyError> {
    let text = files::read(path, false)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let certificates = read.map_err(|e| files::content(path, format!("no certificate in PEM: {e}")))?;
    if certificates.is_empty() {
        return Err(files::content(path, "holds no certificate in PEM (`-----BEGIN CERTIFICATE-----`)"));
    }
    Ok(certificates)
}

/// Verifies as a peer would, so that the error appears where the file is.
fn check_own(chain: &[CertificateDer<'_>], name: &str, verifier: &dyn ServerCertVerifier) -> Result<(), String> {
    use rustls::CertificateError as C;
    let found = peer_name(Some(chain)).map_err(|e| e.to_string())?;
    if found != name {
        return Err(format!("is the certificate of {found}, not of {name}"));
    }
    let server = ServerName::try_from(name).map_err(|e| e.to_string())?;
    let (first, others) = chain.split_first().ok_or("holds no certificate")?;
    match verifier.verify_server_cert(first, others, &server, &[], UnixTime::now()) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => {
            Err(format!("is over; `timeplane live keys issue --force DIR {name}` makes a new one"))
        }
        Err(rustls::Error::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. })) => {
            Err("is not valid yet: is this machine's clock right?".to_owned())
        }
        Err(rustls::Error::InvalidCertificate(C::UnknownIssuer | C::BadSignature)) => {
            Err("was not issued by the authority of ca.pem in the same folder".to_owned())
        }
        Err(e) => Err(e.to_string()),
    }
}

fn fits(path: &Path, e: rustls::Error) -> KeyError {
    match e {
        rustls::Error::InconsistentKeys(_) => files::content(path, "is not the key of the certificate beside it"),
        e => files::content(path, e.to_string()),
    }
}

fn client(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots.clone())
        .with_client_auth_cert(chain.to_vec(), key.clone_key())?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
        .build()
        .map_err(|e| rustls::Error::General(e.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.to_vec(), key.clone_key())?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}
