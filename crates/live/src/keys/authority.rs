//! A certificate authority: its creation, and the certificates that it issues.
//!
//! Its private key never leaves its folder.

use super::files::{self, PRIVATE, PUBLIC};
use super::{Identity, KeyError, check_name, identity};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Validity of the certificates of daemons unless asked otherwise: 397 days from their creation.
///
/// A key that leaks unnoticed is of use for that long. 397 days suit whoever renews once a year,
/// and leave a month for it; they are also the limit of public authorities.
pub const VALIDITY: Duration = Duration::from_secs(DAYS as u64 * DAY);

/// [`VALIDITY`] in days.
pub(super) const DAYS: u32 = 397;

/// Validity of an authority: ten years of 365 days. To replace it, all machines need a new
/// `ca.pem`.
const AUTHORITY_VALIDITY: Duration = Duration::from_secs(10 * 365 * DAY);

pub(super) const DAY: u64 = 86_400;

/// The subject of an authority's certificate, followed by the end of its public key: a list of
/// revoked certificates names its authority by this subject, so two need different ones.
const SUBJECT: &str = "timeplane authority";

/// A certificate authority with its private key (ECDSA with P-256 and SHA-256).
pub struct Authority {
    dir: PathBuf,
    pub(super) issuer: Issuer<'static, KeyPair>,
    /// The subject, as in its certificate (DER).
    pub(super) subject: Vec<u8>,
    validity: Duration,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates an authority: `ca.pem`, and `ca.key` that only its owner can read. A missing folder
    /// is created.
    ///
    /// # Errors
    /// If the folder has an authority already, or a file cannot be written.
    pub fn create(dir: impl AsRef<Path>) -> Result<Self, KeyError> {
        let dir = dir.as_ref();
        files::folder(dir)?;
        let (certificate, key) = (dir.join("ca.pem"), dir.join("ca.key"));
        if let Some(path) = [&certificate, &key].into_iter().find(|p| p.exists()) {
            return Err(KeyError::AuthorityExists { path: path.clone() });
        }
        let pair = KeyPair::generate().map_err(make("key"))?;
        let params = params(&pair)?;
        let made = params.self_signed(&pair).map_err(make("certificate"))?;
        files::write(&key, PRIVATE, &pair.serialize_pem(), false)?;
        files::write(&certificate, PUBLIC, &made.pem(), false)?;
        Self::load(dir)
    }

    /// Reads the files of [`create`](Self::create). `ca.pem` may hold other authorities as well,
    /// which daemons trust alike.
    ///
    /// # Errors
    /// If a file is missing, unreadable or invalid, or `ca.key` is the key of none of `ca.pem`.
    pub fn load(dir: impl AsRef<Path>) -> Result<Self, KeyError> {
        let dir = dir.as_ref();
        let certificate = dir.join("ca.pem");
        let trusted = identity::certificates(&certificate)?;
        let path = dir.join("ca.key");
        let pair = KeyPair::from_pem(&files::read(&path, true)?)
            .map_err(|e| files::content(&path, format!("no private key in PEM: {e}")))?;
        let public = pair.subject_public_key_info();
        for der in trusted {
            let (_, read) = x509_parser::parse_x509_certificate(&der)
                .map_err(|e| files::content(&certificate, format!("no certificate: {e}")))?;
            if read.public_key().raw == public {
                let subject = read.subject().as_raw().to_vec();
                let issuer = Issuer::from_ca_cert_der(&der, pair).map_err(make("certificate"))?;
                return Ok(Self { dir: dir.to_owned(), issuer, subject, validity: VALIDITY });
            }
        }
        Err(files::content(&path, "is the key of no authority in ca.pem"))
    }

    /// Issues certificates from now on that are valid for `days` days, counted from the last
    /// midnight (UTC).
    #[must_use]
    pub fn with_days(self, days: u32) -> Self {
        Self { validity: Duration::from_secs(u64::from(days) * DAY), ..self }
    }

    /// The folder of its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Issues a certificate: `NAME.pem`, and `NAME.key` that only its owner can read, in the
    /// authority's folder.
    ///
    /// # Errors
    /// If the name is invalid ([`check_name`]), or a file exists or cannot be written.
    pub fn issue(&self, name: &str) -> Result<(), KeyError> {
        self.make(name, false, today())
    }

    /// Issues a certificate with a new key, replacing the files of the same name. The old
    /// certificate stays valid until it expires, unless it is revoked before ([`revoke`](Self::revoke)).
    ///
    /// # Errors
    /// As [`issue`](Self::issue), except that files may exist.
    pub fn renew(&self, name: &str) -> Result<(), KeyError> {
        self.make(name, true, today())
    }

    /// Start of validity, in seconds since 1970.
    pub(super) fn make(&self, name: &str, replace: bool, today: u64) -> Result<(), KeyError> {
        check_name(name)?;
        let (certificate, key) = (self.dir.join(format!("{name}.pem")), self.dir.join(format!("{name}.key")));
        if let Some(path) = [&certificate, &key].into_iter().find(|p| !replace && p.exists()) {
            return Err(KeyError::Exists { path: path.clone() });
        }
        let pair = KeyPair::generate().map_err(make("key"))?;
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(make("certificate"))?;
        params.distinguished_name = subject(name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        validity(&mut params, today, self.validity);
        let made = params.signed_by(&pair, &self.issuer).map_err(make("certificate"))?;
        files::write(&key, PRIVATE, &pair.serialize_pem(), replace)?;
        files::write(&certificate, PUBLIC, &made.pem(), replace)?;
        // Detects a `ca.key` that does not match `ca.pem`.
        Identity::load(&self.dir, name).map(|_| ())
    }
}

fn subject(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

fn params(pair: &KeyPair) -> Result<CertificateParams, KeyError> {
    let mut params = CertificateParams::new(Vec::<String>::new()).map_err(make("certificate"))?;
    let end: String = pair.public_key_raw().iter().rev().take(8).map(|b| format!("{b:02x}")).collect();
    params.distinguished_name = subject(&format!("{SUBJECT} {end}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    validity(&mut params, today(), AUTHORITY_VALIDITY);
    Ok(params)
}

/// Midnight, in seconds since 1970.
fn today() -> u64 {
    now() / DAY * DAY
}

/// This machine's clock, in seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Valid from yesterday on, as clocks of hosts may be slow.
fn validity(params: &mut CertificateParams, today: u64, length: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(today.saturating_sub(DAY));
    params.not_after = epoch + Duration::from_secs(today) + length;
}

pub(super) fn make(what: &'static str) -> impl FnOnce(rcgen::Error) -> KeyError {
    move |e| KeyError::Make { what, message: e.to_string() }
}
