//! Our `.proto` text against the descriptors of `PyPI`'s `p4runtime` package, field by field: names, numbers, types, the
//! services' methods. Both have to have everything that the other has.
//!
//! The package needs Python 3 and, the first time, the network; without, the test is listed as absent. `CRN_INTEROP_VENVS`
//! set to a folder, the virtual environment is kept there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use prost::Message as _;
use prost_types::field_descriptor_proto::Label;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
};

const KEPT: &str = "CRN_INTEROP_VENVS";
const NAME: &str = "the_proto_text_is_the_published_interface";

/// Parts of later versions that are read here, so that the P4Info of a newer p4c isn't refused for them: published with 1.5.
const LATER: [&str; 1] = ["p4.config.v1.ActionProfile.weights_disallowed"];

/// Everything that an interface consists of: by full name, what it is.
type Interface = BTreeMap<String, String>;

fn main() {
    let arguments = Arguments::from_args();
    let folder = tempfile::tempdir().unwrap();
    let kept = std::env::var_os(KEPT).map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let python =
        if arguments.list { Err("not looked for".to_owned()) } else { python(&kept.join("p4runtime")) };
    let trial = match python {
        Ok(python) => Trial::test(NAME, move || compare(&python)),
        Err(reason) => {
            let reason = reason.lines().last().unwrap_or_default().to_owned();
            Trial::test(format!("[PyPI's p4runtime ABSENT: {reason}] {NAME}"), || Ok(()))
                .with_ignored_flag(true)
        }
    };
    let comparison = Trial::test("a_comparison_finds_every_kind_of_difference", || {
        differences_are_found();
        Ok(())
    });
    libtest_mimic::run(&arguments, vec![trial, comparison]).exit();
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// A Python that has the package, or why there is none.
fn python(venv: &Path) -> Result<PathBuf, String> {
    let python = venv.join("bin/python");
    if succeeds(Command::new(&python).args(["-c", "import p4.v1.p4runtime_pb2"])).is_ok() {
        return Ok(python);
    }
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "-r"];
    succeeds(Command::new(&python).args(install).arg(beside("descriptors.txt")))?;
    Ok(python)
}

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn compare(python: &Path) -> Result<(), Failed> {
    let output = Command::new(python).arg(beside("descriptors.py")).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let published = interface(&FileDescriptorSet::decode(output.stdout.as_slice())?.file);
    let ours = p4runtime::p4info::descriptor_pool()?;
    let ours = interface(&ours.file_descriptor_protos().cloned().collect::<Vec<_>>());
    println!("{} parts of the interface compared", ours.len());
    if ours.len() < 400 {
        return Err(format!("only {} parts: is anything compared?", ours.len()).into());
    }
    let is_later = |text: &String| LATER.iter().any(|name| text.starts_with(&format!("{name}: only ours")));
    let (later, found): (Vec<String>, Vec<String>) =
        differences(&ours, &published).into_iter().partition(is_later);
    if later.len() != LATER.len() {
        return Err("LATER names what is published by now, or isn't ours: shorten it".into());
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

fn differences(ours: &Interface, published: &Interface) -> Vec<String> {
    let mut found = Vec::new();
    for (name, what) in ours {
        match published.get(name) {
            None => found.push(format!("{name}: only ours ({what})")),
            Some(other) if other != what => found.push(format!("{name}: ours {what}, published {other}")),
            Some(_) => {}
        }
    }
    found.extend(
        published
            .iter()
            .filter(|(name, _)| !ours.contains_key(*name))
            .map(|(name, what)| format!("{name}: only published ({what})")),
    );
    found
}

/// Parts of the packages that are the interface; `google.protobuf` is protobuf's own.
fn interface(files: &[FileDescriptorProto]) -> Interface {
    let mut all = Interface::new();
    for file in files.iter().filter(|file| !file.package().starts_with("google.protobuf")) {
        for message in &file.message_type {
            add_message(file.package(), message, &mut all);
        }
        for kind in &file.enum_type {
            add_enum(file.package(), kind, &mut all);
        }
        for service in &file.service {
            for method in &service.method {
                let (asked, answered) = (method.client_streaming(), method.server_streaming());
                let what = format!(
                    "method {} (stream {asked}) -> {} (stream {answered})",
                    method.input_type(),
                    method.output_type()
                );
                all.insert(format!("{}.{}.{}", file.package(), service.name(), method.name()), what);
            }
        }
    }
    all
}

fn add_message(scope: &str, message: &DescriptorProto, all: &mut Interface) {
    let scope = format!("{scope}.{}", message.name());
    let map_entry = message.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry);
    all.insert(scope.clone(), format!("message, map entry {map_entry}"));
    for field in &message.field {
        all.insert(format!("{scope}.{}", field.name()), field_text(field, message));
    }
    for nested in &message.nested_type {
        add_message(&scope, nested, all);
    }
    for kind in &message.enum_type {
        add_enum(&scope, kind, all);
    }
}

fn field_text(field: &FieldDescriptorProto, message: &DescriptorProto) -> String {
    let one_of = field
        .oneof_index
        .filter(|_| !field.proto3_optional())
        .and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?))
        .map_or("", |one_of| one_of.name());
    let packed = field.options.as_ref().and_then(|options| options.packed);
    format!(
        "field {} {:?} {:?} {} oneof `{one_of}` optional {} packed {packed:?}",
        field.number(),
        field.label(),
        field.r#type(),
        field.type_name(),
        field.proto3_optional(),
    )
}

fn add_enum(scope: &str, kind: &EnumDescriptorProto, all: &mut Interface) {
    for value in &kind.value {
        all.insert(format!("{scope}.{}.{}", kind.name(), value.name()), format!("value {}", value.number()));
    }
}

type Change = Box<dyn Fn(&mut FileDescriptorProto)>;

/// Each kind of difference is one: a missing field, another number, another type, another value, another method.
fn differences_are_found() {
    let pool = p4runtime::p4info::descriptor_pool().unwrap();
    let files: Vec<FileDescriptorProto> = pool.file_descriptor_protos().cloned().collect();
    let ours = interface(&files);
    assert_eq!(differences(&ours, &ours), Vec::<String>::new());
    let changed = |change: &dyn Fn(&mut FileDescriptorProto)| {
        let mut files = files.clone();
        files.iter_mut().filter(|file| file.package() == "p4.v1").for_each(change);
        differences(&ours, &interface(&files))
    };
    let first_field = |change: fn(&mut FieldDescriptorProto)| -> Change {
        Box::new(move |file| {
            file.message_type.iter_mut().filter_map(|one| one.field.first_mut()).for_each(change);
        })
    };
    let changes: [Change; 5] = [
        Box::new(|file| file.message_type.iter_mut().for_each(|message| drop(message.field.pop()))),
        first_field(|field| field.number = Some(field.number() + 100)),
        first_field(|field| field.label = Some(Label::Repeated.into())),
        Box::new(|file| {
            let kinds = file.message_type.iter_mut().flat_map(|message| &mut message.enum_type);
            kinds.flat_map(|kind| &mut kind.value).for_each(|value| value.number = Some(value.number() + 1));
        }),
        Box::new(|file| {
            let methods = file.service.iter_mut().flat_map(|service| &mut service.method);
            methods.for_each(|method| method.server_streaming = Some(!method.server_streaming()));
        }),
    ];
    for (number, change) in changes.iter().enumerate() {
        assert!(!changed(change).is_empty(), "change {number} isn't found");
    }
}
