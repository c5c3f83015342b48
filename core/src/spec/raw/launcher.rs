//! `training.distribution` as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::reader::{FromNode, List, mapping, wrong_kind};
use super::scalar::{Count, Text, inline_schema};
use crate::spec::problems::{At, Findings, quoted};
use crate::spec::yaml::{Node, Value};

/// What `distribution` takes: a launcher with its keys, of which the bare name is a likely mistake.
#[derive(Debug)]
pub(in crate::spec) struct KeyedLauncher(pub(in crate::spec) RawLauncher);

impl FromNode for KeyedLauncher {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Value::Text(name) = &node.value else {
            return RawLauncher::from_node(node, at, findings).map(Self);
        };
        let help = match name.as_str() {
            "torchrun" => "write `{torchrun: {}}`",
            "mpi" | "mpirun" => "write `{mpi: {}}`",
            _ => "write `{torchrun: {}}` or `{mpi: {}}`",
        };
        let message = format!("{}, where a launcher with its keys is needed", quoted(name));
        findings.wrong_with_help(at, message, help);
        None
    }
}

impl JsonSchema for KeyedLauncher {
    fn inline_schema() -> bool {
        RawLauncher::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        RawLauncher::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RawLauncher::json_schema(generator)
    }
}

mapping! {
    /// What starts the script's processes on each machine. Give one launcher.
    pub(in crate::spec) struct RawLauncher {
        /// `{}`: torchrun, with a process for each GPU of a machine, or one.
        optional torchrun: NoKeys,
        /// mpirun.
        optional mpi: RawMpi,
        /// The instance group whose machines the launcher starts processes on, in a list. Needed where there are several groups.
        optional groups: List<Text>,
    }
}

mapping! {
    /// What mpirun is started with.
    pub(in crate::spec) struct RawMpi {
        /// The number of processes on each machine, from 1 to 128. Without it one for each GPU, or one.
        optional processes_per_host: Count,
        /// More options of mpirun, such as `-verbose -x NCCL_DEBUG=INFO`.
        optional options: Text,
    }
}

/// `{}`.
#[derive(Debug)]
pub(in crate::spec) struct NoKeys;

impl FromNode for NoKeys {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::Mapping(keys) if keys.is_empty() => Some(Self),
            Value::Mapping(_) => {
                findings.wrong_with_help(
                    at,
                    "takes no keys: it starts a process for each GPU of a machine, or one",
                    "write `torchrun: {}`",
                );
                None
            }
            Value::Null => {
                findings.wrong_with_help(
                    at,
                    "no value, where `{}` is needed",
                    "write `torchrun: {}`",
                );
                None
            }
            _ => {
                wrong_kind(node, "`{}`", at, findings);
                None
            }
        }
    }
}

inline_schema!(NoKeys, "NoKeys", { "type": "object", "maxProperties": 0 });
