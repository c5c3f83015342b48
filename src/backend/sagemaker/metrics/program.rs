//! This program as the probe: whether it may be sent into a container.

use elf::ElfBytes;
use elf::abi::{EM_AARCH64, EM_X86_64, PT_INTERP};
use elf::endian::LittleEndian;
use elf::file::Class;

use crate::instance::InstanceType;

const NOT_ELF: &str =
    "this program is not a 64-bit Linux program; name a release for Linux in CANARY_GATE_PROBE";
const NOT_STATIC: &str = "this program is linked to libraries that an image may lack; use a release, which is static, or name one in CANARY_GATE_PROBE";

const X86_64: (u16, &str) = (EM_X86_64, "x86-64");
const AARCH64: (u16, &str) = (EM_AARCH64, "ARM");

/// Whether a program runs in any image on this type of machine: a static ELF file of its architecture, `elf(5)`.
///
/// # Errors
///
/// With the reason if it does not.
pub(in crate::backend) fn check_program(bytes: &[u8], kind: &InstanceType) -> Result<(), String> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).map_err(|_| NOT_ELF)?;
    let segments = file.segments().filter(|all| !all.is_empty());
    let segments = segments.filter(|_| file.ehdr.class == Class::ELF64);
    let mut segments = segments.ok_or(NOT_ELF)?.iter();
    // It names the dynamic loader.
    if segments.any(|segment| segment.p_type == PT_INTERP) {
        return Err(NOT_STATIC.to_owned());
    }
    let mut known = [X86_64, AARCH64].into_iter();
    let own = known.find(|(code, _)| *code == file.ehdr.e_machine);
    let (_, own) = own.ok_or(NOT_ELF)?;
    let (_, needed) = if kind.is_arm() { AARCH64 } else { X86_64 };
    match own == needed {
        true => Ok(()),
        false => Err(format!(
            "this program is for {own} machines, and {kind} is another kind ({needed})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with program headers of these kinds.
    fn elf(machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64 + 56 * kinds.len(), 0);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for (index, kind) in kinds.iter().enumerate() {
            let at = 64 + 56 * index;
            bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn only_a_static_program_of_the_right_kind_is_sent() {
        let check = |bytes: &[u8], kind: &str| check_program(bytes, &kind.parse().unwrap());
        let static_x86 = elf(62, &[1, 2]);
        for kind in [
            "ml.m5.xlarge",
            "ml.g5.xlarge",
            "ml.g4dn.xlarge",
            "ml.p6-b300.48xlarge",
            "ml.m7i-flex.large",
        ] {
            assert_eq!(check(&static_x86, kind), Ok(()), "{kind}");
        }
        for kind in [
            "ml.m6g.large",
            "ml.c7gn.xlarge",
            "ml.g5g.xlarge",
            "ml.p6e-gb200.36xlarge",
        ] {
            let error = check(&static_x86, kind).unwrap_err();
            assert!(error.ends_with("is another kind (ARM)"), "{error}");
            assert_eq!(check(&elf(183, &[1]), kind), Ok(()), "{kind}");
        }
        assert_eq!(
            check(&elf(62, &[1, 3, 2]), "ml.m5.xlarge"),
            Err(NOT_STATIC.to_owned())
        );
        let mut far = elf(62, &[1]);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        let cut = (0..static_x86.len() - 56).map(|end| &static_x86[..end]);
        for other in cut.chain([b"#!/bin/sh\n", &far[..]]) {
            assert_eq!(check(other, "ml.m5.xlarge"), Err(NOT_ELF.to_owned()));
        }
    }
}
