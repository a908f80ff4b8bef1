//! Tests of keys that change while daemons run: expired, revoked, renewed and rotated ones.
//!
//! Identities are loaded once, as by a daemon, and meet again after the change.

use super::tests::handshake;
use super::*;
use crate::scratch::Scratch;

/// An authority with a controller and a host.
fn folder(name: &str) -> (Scratch, Authority) {
    let dir = Scratch::new(name);
    let authority = Authority::create(dir.path()).unwrap();
    for name in ["controller-0", "host-3"] {
        authority.issue(name).unwrap();
    }
    (dir, authority)
}

/// Whether host 3 and the controller, as daemons that run, accept each other now.
fn meet(host: &Identity, controller: &Identity) -> Result<(), String> {
    let (client, server) = handshake(host, controller, "controller-0");
    client.and(server).map(|_| ())
}

fn serial(dir: &Scratch, name: &str) -> String {
    let text = list::list(dir.path()).unwrap();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    line.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn expired_certificates_are_refused() {
    let (dir, authority) = folder("keys-expired");
    let controller = Identity::load(dir.path(), "controller-0").unwrap();
    let path = dir.join("host-3.pem");
    controller.check_peer(&identity::certificates(&path).unwrap()).unwrap();
    let made = authority::now() - VALIDITY.as_secs() - 2 * authority::DAY;
    authority.make("host-3", true, made).unwrap_err();
    let refused = controller.check_peer(&identity::certificates(&path).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("expired"), "{refused}");
    assert!(list::list(dir.path()).unwrap().contains("expired"));
    let left = controller.seconds_left();
    let whole = VALIDITY.as_secs() as i64;
    assert!((whole - 2 * authority::DAY as i64..=whole).contains(&left), "{left}");
}

#[test]
fn revoked_certificates_are_refused_by_daemons_that_run() {
    let (dir, authority) = folder("keys-revoked");
    let host = Identity::load(dir.path(), "host-3").unwrap();
    let controller = Identity::load(dir.path(), "controller-0").unwrap();
    meet(&host, &controller).unwrap();
    let before = serial(&dir, "host-3");
    authority.revoke("host-3").unwrap();
    let why = meet(&host, &controller).unwrap_err();
    assert!(why.contains("Revoked"), "{why}");
    assert!(list::list(dir.path()).unwrap().lines().any(|l| l.starts_with("host-3") && l.ends_with("revoked")));
    // A daemon with that certificate does not start, and it stays revoked by its serial.
    let message = Identity::load(dir.path(), "host-3").unwrap_err().to_string();
    assert!(message.contains("is revoked") && message.contains("issue --force"), "{message}");
    let message = authority.revoke(&before).unwrap_err().to_string();
    assert!(message.contains("already"), "{message}");

    // A renewed one is accepted, without a restart of either. The list still has the old one when
    // another one is added, by its serial.
    authority.renew("host-3").unwrap();
    meet(&host, &controller).unwrap();
    authority.issue("host-4").unwrap();
    let old = identity::certificates(&dir.join("host-4.pem")).unwrap();
    controller.check_peer(&old).unwrap();
    let serial = serial(&dir, "host-4");
    authority.revoke(&serial).unwrap();
    meet(&host, &controller).unwrap();
    assert!(controller.check_peer(&old).is_err());
    assert!(authority.revoke(&before).unwrap_err().to_string().contains("already"));

    // A controller can be revoked as well.
    authority.revoke("controller-0").unwrap();
    assert!(meet(&host, &controller).unwrap_err().contains("Revoked"));
}

#[test]
fn only_certificates_of_the_authority_can_be_revoked() {
    let (dir, authority) = folder("keys-revoke-errors");
    for (which, words) in [("host-9", "no host-9.pem"), ("xyz", "is no serial"), ("abc", "is no serial")] {
        let message = authority.revoke(which).unwrap_err().to_string();
        assert!(message.contains(words) && message.contains("keys show"), "{message}");
    }
    assert!(!dir.join("crl.pem").exists());
    let (other, _) = folder("keys-revoke-other");
    std::fs::copy(other.join("host-3.pem"), dir.join("host-3.pem")).unwrap();
    let message = authority.revoke("host-3").unwrap_err().to_string();
    assert!(message.contains("of another authority"), "{message}");
}

#[test]
fn an_invalid_list_stops_a_start_and_changes_nothing_later() {
    let (dir, authority) = folder("keys-list-invalid");
    authority.issue("host-4").unwrap();
    let four = identity::certificates(&dir.join("host-4.pem")).unwrap();
    authority.revoke("host-4").unwrap();
    let host = Identity::load(dir.path(), "host-3").unwrap();
    let controller = Identity::load(dir.path(), "controller-0").unwrap();
    for text in ["", "nonsense", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"] {
        std::fs::write(dir.join("crl.pem"), text).unwrap();
        let message = Identity::load(dir.path(), "host-3").unwrap_err().to_string();
        assert!(message.contains("crl.pem: "), "{message}");
        meet(&host, &controller).unwrap();
        assert!(controller.check_peer(&four).is_err(), "{text:?}: what was revoked stays so");
    }
}

#[test]
fn files_that_do_not_go_together_change_nothing() {
    let (dir, authority) = folder("keys-half");
    let host = Identity::load(dir.path(), "host-3").unwrap();
    let controller = Identity::load(dir.path(), "controller-0").unwrap();
    let old = std::fs::read(dir.join("host-3.key")).unwrap();
    authority.renew("host-3").unwrap();
    let new = std::fs::read(dir.join("host-3.key")).unwrap();
    std::fs::write(dir.join("host-3.key"), old).unwrap();
    meet(&host, &controller).unwrap();
    std::fs::write(dir.join("host-3.key"), new).unwrap();
    meet(&host, &controller).unwrap();
}

#[test]
fn an_authority_is_replaced_while_daemons_run() {
    let (dir, old) = folder("keys-rotated");
    let host = Identity::load(dir.path(), "host-3").unwrap();
    let controller = Identity::load(dir.path(), "controller-0").unwrap();
    old.issue("host-4").unwrap();
    let four = identity::certificates(&dir.join("host-4.pem")).unwrap();
    old.revoke("host-4").unwrap();
    let (next, new) = folder("keys-rotated-next");

    // First both are trusted. The old one's list says nothing of the new one's certificates.
    let text = |dir: &Scratch, file: &str| std::fs::read_to_string(dir.join(file)).unwrap();
    let write = |file: &str, text: &str| std::fs::write(dir.join(file), text).unwrap();
    write("ca.pem", &(text(&dir, "ca.pem") + &text(&next, "ca.pem")));
    meet(&host, &controller).unwrap();
    let copy = |name: &str| {
        for file in [format!("{name}.pem"), format!("{name}.key")] {
            std::fs::copy(next.join(&file), dir.join(&file)).unwrap();
        }
    };
    copy("host-3");
    meet(&host, &controller).unwrap();
    assert!(controller.check_peer(&four).is_err());

    // Each authority has a list of its own, and neither loses that of the other.
    new.issue("host-5").unwrap();
    copy("host-5");
    let five = identity::certificates(&dir.join("host-5.pem")).unwrap();
    std::fs::copy(next.join("ca.key"), dir.join("ca.key")).unwrap();
    let both = Authority::load(dir.path()).unwrap();
    controller.check_peer(&five).unwrap();
    both.revoke("host-5").unwrap();
    meet(&host, &controller).unwrap();
    assert!(controller.check_peer(&four).is_err() && controller.check_peer(&five).is_err());

    // Then the new one alone: certificates of the old one are over.
    copy("controller-0");
    write("ca.pem", &text(&next, "ca.pem"));
    meet(&host, &controller).unwrap();
    assert!(controller.check_peer(&four).unwrap_err().to_string().contains("UnknownIssuer"));
}
