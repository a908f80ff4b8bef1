//! The identity of a daemon: its certificate, and the names that it accepts from peers.
//!
//! It makes the TLS configurations of both sides, from the files as they are.

use super::{KeyError, check_name, files, revocation};
use rustls::client::Resumption;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A daemon's certificate and key, and the authorities that others must have theirs from. TLS 1.3
/// only, and no resumed sessions: every connection shows its certificate.
///
/// Each new connection uses the files as they are then: it looks whether one has changed, and
/// reads them again. So a renewed certificate, another `ca.pem` and a longer `crl.pem` need no
/// restart. Files that do not go together (one is copied, the next one not yet) change nothing
/// until they do. A clone is the same identity.
#[derive(Clone)]
pub struct Identity(Arc<Shared>);

struct Shared {
    dir: PathBuf,
    name: String,
    now: Mutex<Current>,
}

struct Current {
    keys: Keys,
    /// Higher whenever other keys have been read.
    generation: u64,
    /// The files as they were when they were last read.
    stamps: Stamps,
    /// When they were last looked at.
    looked: Instant,
}

/// What the files say.
struct Keys {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    peers: Arc<dyn ClientCertVerifier>,
    /// End of the own certificate's validity, in seconds since 1970.
    expires: i64,
}

/// Inode, size and time of change of each file: a file that is written again has others.
type Stamps = [Option<(u64, u64, i64, i64)>; 4];

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads `ca.pem`, `NAME.pem`, `NAME.key`, and `crl.pem` if it is there, and checks that they
    /// belong together, are valid now, and are not revoked.
    ///
    /// # Errors
    /// If a file is missing or invalid. The message names it, and the command that makes a missing
    /// one.
    pub fn load(dir: impl AsRef<Path>, name: &str) -> Result<Self, KeyError> {
        check_name(name)?;
        let dir = dir.as_ref().to_owned();
        // Before the files are read, so that a change in between is seen later.
        let stamps = stamps(&dir, name);
        let keys = Keys::read(&dir, name)?;
        let now = Mutex::new(Current { keys, generation: 0, stamps, looked: Instant::now() });
        Ok(Self(Arc::new(Shared { dir, name: name.to_owned(), now })))
    }

    /// The daemon's name, which is the only one in its certificate.
    pub fn name(&self) -> &str {
        &self.0.name
    }
    /// Configuration of a client. It requires a server certificate of the same authority with the
    /// expected name.
    pub fn client_config(&self) -> Arc<ClientConfig> {
        self.read_again(Duration::ZERO).keys.client.clone()
    }
    /// Configuration of a server. It requires a client certificate of the same authority;
    /// [`peer_name`] returns its name.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        self.read_again(Duration::ZERO).keys.server.clone()
    }
    /// Seconds until the own certificate expires; negative afterwards.
    pub fn seconds_left(&self) -> i64 {
        self.read_again(LOOK).keys.expires - UnixTime::now().as_secs() as i64
    }

    /// Waits until a peer with this chain of certificates is refused by files that have changed
    /// since, as when it is revoked; returns the reason.
    pub(crate) async fn refuses(&self, chain: Vec<CertificateDer<'static>>) -> String {
        let mut checked = None;
        loop {
            let generation = self.read_again(LOOK).generation;
            if checked != Some(generation)
                && let Err(e) = self.check_peer(&chain)
            {
                return format!("its certificate is no longer accepted: {e}");
            }
            checked = Some(generation);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Checks a peer's certificate, for servers and clients alike: both uses are in each.
    pub(super) fn check_peer(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let peers = self.current().keys.peers.clone();
        let (first, others) = chain.split_first().ok_or(rustls::Error::NoCertificatesPresented)?;
        peers.verify_client_cert(first, others, UnixTime::now()).map(|_| ())
    }

    /// Looks at the files if the last look is older than `age`, and reads those that have changed.
    fn read_again(&self, age: Duration) -> MutexGuard<'_, Current> {
        let Shared { dir, name, .. } = &*self.0;
        let mut current = self.current();
        if current.looked.elapsed() < age {
            return current;
        }
        current.looked = Instant::now();
        let stamps = stamps(dir, name);
        if stamps != current.stamps {
            current.stamps = stamps;
            match Keys::read(dir, name) {
                Ok(keys) => {
                    current.keys = keys;
                    current.generation += 1;
                    tracing::info!("read the keys in {} again", dir.display());
                }
                Err(e) => tracing::warn!("keys have changed, but stay as they were until this is mended: {e}"),
            }
        }
        current
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time between two looks at the files while nobody connects.
const LOOK: Duration = Duration::from_secs(1);

fn stamps(dir: &Path, name: &str) -> Stamps {
    let files = ["ca.pem".to_owned(), format!("{name}.pem"), format!("{name}.key"), revocation::FILE.to_owned()];
    files.map(|file| {
        let data = std::fs::metadata(dir.join(file)).ok()?;
        Some((data.ino(), data.size(), data.ctime(), data.ctime_nsec()))
    })
}

impl Keys {
    fn read(dir: &Path, name: &str) -> Result<Self, KeyError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let ca = dir.join("ca.pem");
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&ca)? {
            roots.add(certificate).map_err(|e| files::content(&ca, format!("no certificate of an authority: {e}")))?;
        }
        let roots = Arc::new(roots);
        let revoked = revocation::lists(dir)?;
        // An authority that has revoked nothing has no list, and its certificates are fine.
        let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .with_crls(revoked.iter().cloned())
            .allow_unknown_revocation_status()
            .build()
            .map_err(|e| files::content(&ca, e.to_string()))?;
        let peers = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .with_crls(revoked)
            .allow_unknown_revocation_status()
            .build()
            .map_err(|e| files::content(&ca, e.to_string()))?;
        let path = dir.join(format!("{name}.pem"));
        let chain = certificates(&path)?;
        check_own(&chain, name, &*servers).map_err(|what| files::content(&path, what))?;
        let expires = expires(&chain).ok_or_else(|| files::content(&path, "has no end of its validity"))?;

        let key_path = dir.join(format!("{name}.key"));
        let key = PrivateKeyDer::from_pem_slice(files::read(&key_path, true)?.as_bytes())
            .map_err(|e| files::content(&key_path, format!("no private key in PEM: {e}")))?;
        let client = client(&provider, &servers, &chain, &key).map_err(|e| fits(&key_path, e))?;
        let server = server(&provider, &peers, &chain, &key).map_err(|e| fits(&key_path, e))?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), peers, expires })
    }
}

/// End of validity of the first certificate, in seconds since 1970.
fn expires(chain: &[CertificateDer<'_>]) -> Option<i64> {
    let (_, certificate) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
    Some(certificate.validity().not_after.timestamp())
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

pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, KeyError> {
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
        Err(rustls::Error::InvalidCertificate(C::Revoked)) => {
            Err(format!("is revoked (crl.pem); `timeplane live keys issue --force DIR {name}` makes a new one"))
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
    verifier: &Arc<WebPkiServerVerifier>,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_webpki_verifier(verifier.clone())
        .with_client_auth_cert(chain.to_vec(), key.clone_key())?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server(
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<dyn ClientCertVerifier>,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(chain.to_vec(), key.clone_key())?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}
