use p4runtime::p4::v1::{Entity, MeterConfig, Update, entity, field_match, replica, update};

use super::*;
use crate::desired;
use crate::pipeline::Pipeline;
use crate::topology;

fn incast(text: &str) -> Desired {
    let pipeline = Pipeline::v1model().expect("usable");
    let topology = topology::parse("incast", text).expect("accepted");
    desired::entries(&topology, "s1", &pipeline.index).expect("fits")
}

fn text() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/incast-8to1.yaml");
    std::fs::read_to_string(path).expect("readable")
}

fn kinds(updates: &[Update]) -> Vec<(update::Type, &'static str)> {
    let name = |update: &Update| match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        Some(entity::Entity::TableEntry(entry)) if entry.is_default_action => "default",
        Some(entity::Entity::TableEntry(_)) => "entry",
        Some(entity::Entity::ActionProfileMember(_)) => "member",
        Some(entity::Entity::ActionProfileGroup(_)) => "group",
        Some(entity::Entity::MeterEntry(_)) => "meter",
        Some(entity::Entity::PacketReplicationEngineEntry(_)) => "clone",
        _ => "other",
    };
    updates.iter().map(|update| (update.r#type(), name(update))).collect()
}

/// What a switch holds after the updates; refuses what a switch would.
fn apply(held: &mut Vec<Entity>, updates: &[Update]) {
    for update in updates {
        let entity = update.entity.clone().expect("an entity");
        let key = keyed::split(&entity).map(|(key, _)| key);
        let place = held.iter().position(|other| keyed::split(other).map(|(key, _)| key) == key);
        match (update.r#type(), place) {
            // Default actions and meters are always there, to be modified.
            (update::Type::Insert | update::Type::Modify, None) => held.push(entity),
            (update::Type::Modify, Some(place)) => held[place] = entity,
            (update::Type::Delete, Some(place)) => {
                held.remove(place);
            }
            (kind, place) => panic!("{kind:?} of {key:?}, which is at {place:?}"),
        }
    }
}

#[test]
fn an_empty_switch_gets_everything_in_an_order_that_never_refers_to_nothing() {
    let desired = incast(&text());
    let updates = updates(&desired, &[]);
    assert_eq!(updates.len(), desired.entities.len());
    let kinds = kinds(&updates);
    let last = |what| kinds.iter().rposition(|(_, kind)| *kind == what).expect("some");
    let first = |what| kinds.iter().position(|(_, kind)| *kind == what).expect("some");
    assert!(last("member") < first("entry"));
    assert!(last("entry") < first("default"), "reports start when all else stands");
    assert_eq!(kinds[first("default")].0, update::Type::Modify);
    assert_eq!(kinds[first("meter")].0, update::Type::Modify);
}

#[test]
fn a_second_apply_writes_nothing() {
    let desired = incast(&text());
    let mut held = Vec::new();
    apply(&mut held, &updates(&desired, &[]));
    assert_eq!(updates(&desired, &held), []);
    held.reverse();
    assert_eq!(updates(&desired, &held), [], "the order of a read doesn't count");
}

/// A switch may answer with padded octets, a copy's port in the other field, and meters that were never set.
#[test]
fn the_same_in_another_form_is_no_difference() {
    let desired = incast(&text());
    let mut held = desired.entities.clone();
    for entity in &mut held {
        match entity.entity.as_mut().expect("an entity") {
            entity::Entity::TableEntry(entry) => {
                for field in &mut entry.r#match {
                    if let Some(field_match::FieldMatchType::Exact(exact)) = &mut field.field_match_type {
                        exact.value.insert(0, 0);
                    }
                }
            }
            entity::Entity::PacketReplicationEngineEntry(entry) => {
                let Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) =
                    &mut entry.r#type
                else {
                    panic!("a clone session");
                };
                #[expect(deprecated, reason = "what BMv2 answers with")]
                let port = replica::PortKind::EgressPort(510);
                session.replicas[0].port_kind = Some(port);
            }
            _ => {}
        }
    }
    let meter_id = held.iter().find_map(|entity| match &entity.entity {
        Some(entity::Entity::MeterEntry(entry)) => Some(entry.meter_id),
        _ => None,
    });
    let unset = MeterEntry { meter_id: meter_id.expect("a meter"), index: None, ..MeterEntry::default() };
    held.push(Entity { entity: Some(entity::Entity::MeterEntry(unset)) });
    assert_eq!(updates(&desired, &held), []);
}

#[test]
fn one_changed_threshold_modifies_its_profiles_and_replaces_its_ranges() {
    let before = incast(&text());
    let after =
        incast(&text().replace("ecn_threshold: 100kB, q_max: 1MB", "ecn_threshold: 100kB, q_max: 2MB"));
    let updates = updates(&after, &before.entities);
    let kinds = kinds(&updates);
    let count = |wanted| kinds.iter().filter(|(kind, _)| *kind == wanted).count();
    assert_eq!(count(update::Type::Modify), 9, "one queue_profile entry a port");
    assert_eq!(count(update::Type::Delete), 255);
    assert_eq!(count(update::Type::Insert), 255);
    let first_insert = kinds.iter().position(|(kind, _)| *kind == update::Type::Insert).expect("some");
    let last_delete = kinds.iter().rposition(|(kind, _)| *kind == update::Type::Delete).expect("some");
    assert!(last_delete < first_insert, "new ranges never overlap old ones");
    let mut held = before.entities.clone();
    apply(&mut held, &updates);
    assert_eq!(super::updates(&after, &held), []);
}

#[test]
fn a_host_that_goes_takes_its_route_before_its_member() {
    let before = incast(&text());
    let fewer = text()
        .replace("  b4: { address: 10.0.0.8 }\n", "")
        .replace("  - { endpoints: [\"s1:8\", b4] }\n", "")
        .replace(", b4]", "]");
    let updates = updates(&incast(&fewer), &before.entities);
    let kinds = kinds(&updates);
    let route = kinds.iter().position(|kind| *kind == (update::Type::Delete, "entry")).expect("a route goes");
    let member =
        kinds.iter().position(|kind| *kind == (update::Type::Delete, "member")).expect("a member goes");
    assert!(route < member);
    let reset = updates.iter().find_map(|update| match update.entity.as_ref()?.entity.as_ref()? {
        entity::Entity::MeterEntry(entry) => Some(entry.config),
        _ => None,
    });
    assert_eq!(reset, Some(None::<MeterConfig>), "the port's meter is reset");
}

#[test]
fn every_kind_that_is_written_is_read_back() {
    let pipeline = Pipeline::v1model().expect("usable");
    let asked = read_request(&pipeline.index);
    for entity in incast(&text()).entities {
        let covered = asked.iter().any(|ask| match (&ask.entity, &entity.entity) {
            (Some(entity::Entity::TableEntry(ask)), Some(entity::Entity::TableEntry(entry))) => {
                ask.table_id == entry.table_id && ask.is_default_action == entry.is_default_action
            }
            (Some(ask), Some(entry)) => std::mem::discriminant(ask) == std::mem::discriminant(entry),
            _ => false,
        });
        assert!(covered, "{entity:?}");
    }
}

/// A Tofino keeps a meter's rates as a mantissa and an exponent.
#[test]
fn a_rate_that_a_tofino_has_rounded_is_not_written_again() {
    let desired = incast(&text().replace("target: soft", "target: tofino"));
    let held = |percent: i64| -> Vec<Entity> {
        let rounded = |entity: &Entity| {
            let mut entity = entity.clone();
            if let Some(entity::Entity::MeterEntry(entry)) = &mut entity.entity
                && let Some(config) = &mut entry.config
            {
                config.cir -= config.cir * percent / 100;
                config.pir = config.cir;
            }
            entity
        };
        desired.entities.iter().map(rounded).collect()
    };
    assert_eq!(updates(&desired, &held(1)), []);
    let changed = kinds(&updates(&desired, &held(3)));
    assert_eq!(changed, vec![(update::Type::Modify, "meter"); 9]);
    let exact = Desired { meters_are_rounded: false, ..desired.clone() };
    assert_eq!(updates(&exact, &held(1)).len(), 9);
}
