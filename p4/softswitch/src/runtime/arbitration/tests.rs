//! P4Runtime, Rules for Handling `MasterArbitrationUpdate` Messages and Client Arbitration Notifications.

use super::*;

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);

fn ask(device_id: u64, role: &str, election_id: Option<u128>) -> MasterArbitrationUpdate {
    MasterArbitrationUpdate {
        device_id,
        role: (!role.is_empty()).then(|| Role { name: role.to_owned(), ..Role::default() }),
        election_id: election_id.map(uint128),
        status: None,
    }
}

fn codes(notices: &[Notice]) -> Vec<(u64, Code)> {
    let code = |message: &MasterArbitrationUpdate| Code::from(message.status.as_ref().unwrap().code);
    notices.iter().map(|(stream, message)| (stream.0, code(message))).collect()
}

#[test]
fn the_highest_id_is_primary_and_all_hear_of_a_change_the_new_primary_last() {
    let mut arbitration = Arbitration::new(1);
    assert_eq!(codes(&arbitration.update(B, &ask(1, "", Some(5))).unwrap()), [(2, Code::Ok)]);
    let notices = arbitration.update(A, &ask(1, "", Some(6))).unwrap();
    assert_eq!(codes(&notices), [(2, Code::AlreadyExists), (1, Code::Ok)]);
    assert!(arbitration.check_primary("", Some(6)).is_ok());
    assert_eq!(arbitration.check_primary("", Some(5)).unwrap_err().code, Code::PermissionDenied);
}

#[test]
fn a_lower_id_is_a_backup_and_only_it_hears() {
    let mut arbitration = Arbitration::new(1);
    arbitration.update(A, &ask(1, "", Some(1 << 100))).unwrap();
    let notices = arbitration.update(B, &ask(1, "", Some(1 << 99))).unwrap();
    assert_eq!(codes(&notices), [(2, Code::AlreadyExists)]);
    assert_eq!(notices[0].1.election_id, Some(uint128(1 << 100)), "the highest id seen");
}

#[test]
fn nobody_is_promoted_when_the_primary_goes() {
    let mut arbitration = Arbitration::new(1);
    arbitration.update(A, &ask(1, "", Some(9))).unwrap();
    arbitration.update(B, &ask(1, "", Some(8))).unwrap();
    assert_eq!(codes(&arbitration.close(A)), [(2, Code::NotFound)]);
    assert!(arbitration.check_primary("", Some(9)).is_err());
    // 8 is below what the role has seen; 9 isn't.
    assert_eq!(codes(&arbitration.update(B, &ask(1, "", Some(8))).unwrap()), [(2, Code::NotFound)]);
    assert_eq!(codes(&arbitration.update(B, &ask(1, "", Some(9))).unwrap()), [(2, Code::Ok)]);
}

#[test]
fn a_primary_that_lowers_its_id_leaves_the_role_without_primary() {
    let mut arbitration = Arbitration::new(1);
    arbitration.update(A, &ask(1, "", Some(9))).unwrap();
    arbitration.update(B, &ask(1, "", Some(8))).unwrap();
    let notices = arbitration.update(A, &ask(1, "", Some(3))).unwrap();
    assert_eq!(codes(&notices), [(1, Code::NotFound), (2, Code::NotFound)]);
}

#[test]
fn without_an_id_nobody_becomes_primary() {
    let mut arbitration = Arbitration::new(1);
    let notices = arbitration.update(A, &ask(1, "", None)).unwrap();
    assert_eq!(codes(&notices), [(1, Code::NotFound)]);
    assert_eq!(notices[0].1.election_id, None, "there has been no primary");
    assert!(arbitration.check_primary("", None).is_err());
    // An id of 0 is an id.
    assert_eq!(
        codes(&arbitration.update(B, &ask(1, "", Some(0))).unwrap()),
        [(1, Code::AlreadyExists), (2, Code::Ok)]
    );
}

#[test]
fn roles_have_primaries_of_their_own() {
    let mut arbitration = Arbitration::new(1);
    arbitration.update(A, &ask(1, "", Some(9))).unwrap();
    assert_eq!(codes(&arbitration.update(B, &ask(1, "telemetry", Some(2))).unwrap()), [(2, Code::Ok)]);
    assert!(arbitration.check_primary("telemetry", Some(2)).is_ok());
    assert!(arbitration.check_primary("telemetry", Some(9)).is_err());
    assert_eq!(arbitration.primaries(), [A, B]);
}

#[test]
fn what_ends_a_stream() {
    let mut arbitration = Arbitration::new(7);
    let error = arbitration.update(A, &ask(8, "", Some(1))).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains('7') && error.message.contains('8'), "both ids: {}", error.message);
    arbitration.update(A, &ask(7, "", Some(1))).unwrap();
    assert_eq!(arbitration.update(B, &ask(7, "", Some(1))).unwrap_err().code, Code::InvalidArgument);
    assert_eq!(arbitration.update(A, &ask(8, "", Some(1))).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(arbitration.update(A, &ask(7, "x", Some(1))).unwrap_err().code, Code::FailedPrecondition);
}
