//! Tests of keys and certificates: files, permissions, names and roles.
//!
//! Handshakes run in memory, without a network.

use super::*;
use crate::scratch::Scratch;
use rustls::pki_types::ServerName;
use std::os::unix::fs::PermissionsExt;

fn mode(path: PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// What one has to say to the other, and what that makes of it.
fn pass(from: &mut rustls::Connection, to: &mut rustls::Connection, error: &mut Option<String>) {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut bytes = &bytes[..];
    while !bytes.is_empty() && error.is_none() {
        to.read_tls(&mut bytes).unwrap();
        *error = to.process_new_packets().err().map(|e| e.to_string());
    }
}

/// A handshake without a network: the client's and the server's view of who the other is.
pub(super) fn handshake(
    client: &Identity,
    server: &Identity,
    asked: &str,
) -> (Result<String, String>, Result<String, String>) {
    let name = ServerName::try_from(asked.to_owned()).unwrap();
    let mut c = rustls::Connection::from(rustls::ClientConnection::new(client.client_config(), name).unwrap());
    let mut s = rustls::Connection::from(rustls::ServerConnection::new(server.server_config()).unwrap());
    let (mut c_error, mut s_error) = (None, None);
    for _ in 0..8 {
        pass(&mut c, &mut s, &mut s_error);
        pass(&mut s, &mut c, &mut c_error);
    }
    let view = |connection: &rustls::Connection, error: Option<String>| match error {
        Some(e) => Err(e),
        None if connection.is_handshaking() => Err("does not end".to_owned()),
        None => peer_name(connection.peer_certificates()).map_err(|e| e.to_string()),
    };
    (view(&c, c_error), view(&s, s_error))
}

#[test]
fn files_are_there_and_private_keys_are_private() {
    let dir = Scratch::new("keys-files");
    let authority = Authority::create(dir.join("keys")).unwrap();
    authority.issue("host-3").unwrap();
    let keys = dir.join("keys");
    assert_eq!(mode(keys.clone()), 0o700);
    for (name, expected) in [("ca.pem", 0o644), ("ca.key", 0o600), ("host-3.pem", 0o644), ("host-3.key", 0o600)] {
        assert_eq!(mode(keys.join(name)), expected, "{name}");
    }
    assert_eq!(std::fs::read_dir(&keys).unwrap().count(), 4, "nothing else is left there");
}

#[test]
fn both_sides_learn_each_others_name() {
    let dir = Scratch::new("keys-both");
    let authority = Authority::create(dir.path()).unwrap();
    for name in ["controller-0", "host-3"] {
        authority.issue(name).unwrap();
    }
    let (host, controller) =
        (Identity::load(dir.path(), "host-3").unwrap(), Identity::load(dir.path(), "controller-0").unwrap());
    let (client, server) = handshake(&host, &controller, "controller-0");
    assert_eq!((client.as_deref(), server.as_deref()), (Ok("controller-0"), Ok("host-3")));
    // A host is no controller, whatever address it has.
    let (client, _) = handshake(&host, &host, "controller-0");
    assert!(client.unwrap_err().contains("not valid for name"));
}

#[test]
fn another_authority_is_a_stranger() {
    let (a, b) = (Scratch::new("keys-a"), Scratch::new("keys-b"));
    for (dir, name) in [(&a, "controller-0"), (&b, "host-3")] {
        Authority::create(dir.path()).unwrap().issue(name).unwrap();
    }
    let (controller, host) =
        (Identity::load(a.path(), "controller-0").unwrap(), Identity::load(b.path(), "host-3").unwrap());
    let (client, server) = handshake(&host, &controller, "controller-0");
    assert!(client.is_err() && server.is_err());
    // A folder that mixes both says so at once.
    for file in ["host-3.pem", "host-3.key"] {
        std::fs::copy(b.join(file), a.join(file)).unwrap();
    }
    let message = Identity::load(a.path(), "host-3").unwrap_err().to_string();
    assert!(message.contains("host-3.pem") && message.contains("not issued by the authority"), "{message}");
}

#[test]
fn nothing_is_overwritten_unless_it_is_asked_for() {
    let dir = Scratch::new("keys-overwrite");
    let authority = Authority::create(dir.path()).unwrap();
    assert!(matches!(Authority::create(dir.path()), Err(KeyError::AuthorityExists { .. })));
    authority.issue("host-3").unwrap();
    let before = std::fs::read(dir.join("host-3.key")).unwrap();
    let message = authority.issue("host-3").unwrap_err().to_string();
    assert!(message.contains("host-3.pem") && message.contains("--force"), "{message}");
    assert_eq!(std::fs::read(dir.join("host-3.key")).unwrap(), before);
    // Another run of the command renews.
    Authority::load(dir.path()).unwrap().renew("host-3").unwrap();
    assert_ne!(std::fs::read(dir.join("host-3.key")).unwrap(), before);
    assert_eq!(mode(dir.join("host-3.key")), 0o600);
    Identity::load(dir.path(), "host-3").unwrap();
}

#[test]
fn errors_say_which_file_and_what_to_do() {
    let dir = Scratch::new("keys-errors");
    let keys = dir.join("keys");
    let message = |name: &str| Identity::load(&keys, name).unwrap_err().to_string();
    let init = format!("timeplane live keys init {}", keys.display());
    let none = message("host-3");
    assert!(none.contains("ca.pem") && none.contains(&init), "{none}");
    let authority = Authority::create(&keys).unwrap();
    let issue = format!("timeplane live keys issue {} host-3", keys.display());
    assert!(message("host-3").contains(&issue), "{}", message("host-3"));
    authority.issue("host-3").unwrap();
    authority.issue("host-4").unwrap();

    let key = keys.join("host-3.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(message("host-3").contains("host-3.key: mode 0644"), "{}", message("host-3"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o440)).unwrap();
    Identity::load(&keys, "host-3").unwrap();

    std::fs::copy(keys.join("host-4.key"), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(message("host-3").contains("host-3.key: is not the key of"), "{}", message("host-3"));
    std::fs::write(&key, "nonsense").unwrap();
    assert!(message("host-3").contains("host-3.key: no private key in PEM"), "{}", message("host-3"));

    std::fs::copy(keys.join("host-4.pem"), keys.join("host-3.pem")).unwrap();
    assert!(message("host-3").contains("the certificate of host-4, not of host-3"), "{}", message("host-3"));
    for nonsense in
        [&b""[..], b"nonsense", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
    {
        std::fs::write(keys.join("host-3.pem"), nonsense).unwrap();
        assert!(message("host-3").contains("host-3.pem: "), "{}", message("host-3"));
    }
    std::fs::write(keys.join("ca.pem"), "nonsense").unwrap();
    assert!(message("host-3").contains("ca.pem: holds no certificate"), "{}", message("host-3"));
}

#[test]
fn certificates_hold_from_yesterday_for_their_validity() {
    let dir = Scratch::new("keys-time");
    let authority = Authority::create(dir.path()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let validity = VALIDITY.as_secs();
    let days = 2 * 86_400;
    // As if they had been made, or the clock had been read, at another time.
    for (made, wrong) in [
        (now - validity - days, Some("is over; `timeplane live keys issue --force")),
        (now - validity + days, None),
        (now + days / 4, None),
        (now + days, Some("is not valid yet: is this machine's clock right?")),
    ] {
        let message = authority.make("host-3", true, made).err().map(|e| e.to_string());
        match (wrong, message) {
            (None, None) => {}
            (Some(wrong), Some(message)) if message.contains(wrong) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn certificates_are_over_after_their_days() {
    let dir = Scratch::new("keys-days");
    let authority = Authority::create(dir.path()).unwrap().with_days(30);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    authority.make("host-3", true, now - 29 * 86_400).unwrap();
    let message = authority.make("host-3", true, now - 31 * 86_400).unwrap_err().to_string();
    assert!(message.contains("is over; `timeplane live keys issue --force"), "{message}");
}

#[test]
fn a_key_of_another_authority_issues_nothing_usable() {
    let (a, b) = (Scratch::new("keys-mixed-a"), Scratch::new("keys-mixed-b"));
    for dir in [&a, &b] {
        Authority::create(dir.path()).unwrap();
    }
    std::fs::copy(b.join("ca.key"), a.join("ca.key")).unwrap();
    let message = Authority::load(a.path()).unwrap_err().to_string();
    assert!(message.contains("ca.key: is the key of no authority in ca.pem"), "{message}");
}

#[test]
fn names_are_labels_in_lower_case() {
    for good in ["controller-0", "host-3", "observer", "a", &"a".repeat(63)] {
        assert!(check_name(good).is_ok(), "{good}");
    }
    for bad in ["", "ca", "Host-3", "3-host", "-a", "a-", "a.b", "../a", "a/b", "a b", "ä", "*", &"a".repeat(64)] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
    let dir = Scratch::new("keys-names");
    assert!(matches!(Authority::create(dir.path()).unwrap().renew("ca"), Err(KeyError::Name { .. })));
}

#[test]
fn a_role_has_one_name() {
    for (name, role) in
        [("controller-0", Role::Controller(0)), ("host-31", Role::Host(HostId(31))), ("observer", Role::Observer)]
    {
        assert_eq!(name.parse::<Role>().unwrap(), role);
        assert_eq!(role.to_string(), name);
    }
    for nobody in ["host-03", "host-+3", "host-", "host-4294967296", "host", "observer-1", "controller--1", ""] {
        assert!(nobody.parse::<Role>().is_err(), "{nobody}");
    }
}
