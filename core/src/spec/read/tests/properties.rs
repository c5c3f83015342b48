//! No input makes reading or rendering panic.

use proptest::prelude::*;

use super::*;

/// Reads and renders: neither may panic, and a refusal has a reason.
fn survives(bytes: &[u8]) {
    if let Err(errors) = read("canary-gate.yml", bytes, &[]) {
        assert!(errors.count() > 0);
        let report = errors.render(false, 80);
        assert!(
            report.chars().all(|c| c == '\n' || !c.is_control()),
            "{report:?}"
        );
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
    }

    #[test]
    fn random_yaml_never_panics(text in "[-a-c:{}\\[\\],&*!|>'\"#% \n\t0-9ü]{0,80}") {
        survives(text.as_bytes());
    }

    #[test]
    fn a_damaged_example_never_panics(
        local in any::<bool>(),
        at in any::<prop::sample::Index>(),
        length in 0_usize..40,
        with in prop_oneof![
            "[-a-z:{}\\[\\],&*!|>'\"#% \n\t0-9ü]{0,12}",
            Just("null".to_owned()), Just("[]".to_owned()), Just("{}".to_owned()), Just("-1".to_owned()),
            Just("1e400".to_owned()), Just("99999999999999999999 USD".to_owned()), Just("\"\\0\"".to_owned()),
        ],
    ) {
        let text = if local { init_template() } else { EXAMPLE };
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, with.bytes());
        survives(&bytes);
    }

    /// Every line of the example may go; what is left is read or refused with a reason.
    #[test]
    fn any_lines_may_be_missing(keep in prop::collection::vec(prop::bool::weighted(0.9), 70)) {
        let lines = EXAMPLE.lines().zip(keep).filter(|(_, keep)| *keep);
        let text: Vec<&str> = lines.map(|(line, _)| line).collect();
        survives(text.join("\n").as_bytes());
    }
}
