//! Revoked certificates: `crl.pem`, beside `ca.pem`.
//!
//! The file holds a list of serials for each authority that has revoked something, signed by that
//! authority (RFC 5280, section 5). Lists do not expire: a fabric must not stop because nobody
//! has signed the same list again.

use super::authority::{DAY, make, now};
use super::files::{self, PUBLIC};
use super::{Authority, KeyError, identity};
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use std::path::{Path, PathBuf};
use std::time::Duration;
use x509_parser::revocation_list::CertificateRevocationList;

/// The file's name.
pub(super) const FILE: &str = "crl.pem";

/// The last line of a list.
const END: &str = "-----END X509 CRL-----";

/// Reads the lists of a folder of keys; a missing file has none.
///
/// # Errors
/// If the file cannot be read, or holds anything but lists.
pub(super) fn lists(dir: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, KeyError> {
    let path = dir.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = files::read(&path, false)?;
    let read: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(text.as_bytes()).collect();
    let lists = read.map_err(|e| files::content(&path, format!("no list of revoked certificates: {e}")))?;
    if lists.is_empty() {
        // A file that was cut must not make revoked certificates valid again.
        return Err(files::content(&path, "holds no list in PEM (`-----BEGIN X509 CRL-----`)"));
    }
    lists.iter().try_for_each(|list| parse(&path, list).map(|_| ()))?;
    Ok(lists)
}

fn parse<'a>(
    path: &Path,
    list: &'a CertificateRevocationListDer<'_>,
) -> Result<CertificateRevocationList<'a>, KeyError> {
    let read = x509_parser::parse_x509_crl(list).map_err(|e| files::content(path, format!("invalid list: {e}")));
    read.map(|(_, list)| list)
}

/// Whether a list of the folder has this certificate (DER).
pub(super) fn is_revoked(dir: &Path, certificate: &[u8]) -> Result<bool, KeyError> {
    let path = dir.join(FILE);
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|e| KeyError::Tls { what: format!("no certificate: {e}") })?;
    for list in lists(dir)? {
        let list = parse(&path, &list)?;
        let issued = list.issuer().as_raw() == certificate.issuer().as_raw();
        if issued && list.iter_revoked_certificates().any(|r| r.raw_serial() == certificate.raw_serial()) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Authority {
    /// Revokes a certificate of this authority, by the name of its file in the folder or by its
    /// serial in hexadecimal digits, as `keys show` prints it. Returns the path of `crl.pem`.
    ///
    /// # Errors
    /// If there is no such certificate, it is of another authority, it is revoked already, or the
    /// file cannot be read or written.
    pub fn revoke(&self, which: &str) -> Result<PathBuf, KeyError> {
        let path = self.dir().join(FILE);
        let serial = self.serial(which)?;
        // Lists of other authorities stay; that of this one gets longer.
        let (mut text, mut revoked, mut number) = (String::new(), Vec::new(), 0);
        let before = lists(self.dir())?;
        let file = if before.is_empty() { String::new() } else { files::read(&path, false)? };
        for (der, block) in before.iter().zip(file.split_inclusive(END)) {
            let list = parse(&path, der)?;
            if list.issuer().as_raw() != self.subject {
                text = text + block.trim() + "\n";
                continue;
            }
            number = list.crl_number().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            revoked.extend(
                list.iter_revoked_certificates()
                    .map(|r| entry(r.raw_serial(), u64::try_from(r.revocation_date.timestamp()).unwrap_or(0))),
            );
        }
        let new = entry(&serial, now());
        if revoked.iter().any(|r| r.serial_number == new.serial_number) {
            return Err(files::content(&path, format!("has {which} already")));
        }
        revoked.push(new);
        let epoch = rcgen::date_time_ymd(1970, 1, 1);
        let params = CertificateRevocationListParams {
            this_update: epoch + Duration::from_secs(now()),
            // Required by the library; daemons do not look at it.
            next_update: epoch + Duration::from_secs(now() + 3650 * DAY),
            crl_number: SerialNumber::from(number + 1),
            issuing_distribution_point: None,
            revoked_certs: revoked,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.issuer).map_err(make("list of revoked certificates"))?;
        text += &list.pem().map_err(make("list of revoked certificates"))?;
        files::write(&path, PUBLIC, &text, true)?;
        Ok(path)
    }

    /// Serial of a certificate, by the name of its file or as digits.
    fn serial(&self, which: &str) -> Result<Vec<u8>, KeyError> {
        if super::check_name(which).is_err() || !self.dir().join(format!("{which}.pem")).exists() {
            return digits(which).ok_or_else(|| {
                files::content(self.dir(), format!("no {which}.pem, and {which:?} is no serial: expected hexadecimal digits, as `keys show` prints them"))
            });
        }
        let path = self.dir().join(format!("{which}.pem"));
        let chain = identity::certificates(&path)?;
        let first = chain.first().map(|der| x509_parser::parse_x509_certificate(der));
        match first {
            Some(Ok((_, read))) if read.issuer().as_raw() == self.subject => Ok(read.raw_serial().to_vec()),
            Some(Ok(_)) => Err(files::content(&path, "is of another authority, which alone can revoke it")),
            _ => Err(files::content(&path, "no certificate")),
        }
    }
}

/// Bytes of an even number of hexadecimal digits, up to the 20 bytes of a serial.
fn digits(text: &str) -> Option<Vec<u8>> {
    let good =
        text.len().is_multiple_of(2) && (2..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    good.then(|| (0..text.len()).step_by(2).map(byte).collect()).flatten()
}

fn entry(serial: &[u8], since: u64) -> RevokedCertParams {
    // DER puts a zero before a first byte of 128 and more, which the library adds again.
    let serial = serial.strip_prefix(&[0]).filter(|s| !s.is_empty()).unwrap_or(serial);
    RevokedCertParams {
        serial_number: SerialNumber::from_slice(serial),
        revocation_time: rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(since),
        reason_code: None,
        invalidity_date: None,
    }
}
