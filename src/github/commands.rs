//! Workflow commands: annotations, and protection from commands in a job's log.
//!
//! The runner reads the output of a step; a line that starts with `::` is a command to it. Syntax and escaping:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use serde_json::{Value, json};

use crate::report::escape::{LINE_LIMIT, PARAGRAPH_LIMIT, for_terminal};
use crate::spec::FilePosition;

/// The severity of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    Error,
    Warning,
}

impl AnnotationLevel {
    /// In a workflow command and in a check run.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Error => ["error", "failure"],
            Self::Warning => ["warning", "warning"],
        }
    }
}

/// A remark at a place of a file of the repository, or on the run's page without one.
#[derive(Debug, Clone)]
pub struct Annotation {
    pub level: AnnotationLevel,
    pub place: Option<(String, FilePosition)>,
    pub title: String,
    pub message: String,
}

impl Annotation {
    /// The workflow command. Title and message may be any text: each is escaped, made one line, and cut if it is too long.
    pub fn command(&self) -> String {
        let [level, _] = self.level.words();
        let mut properties = Vec::new();
        if let Some((file, FilePosition { line, column })) = &self.place {
            let file = for_terminal(file, PARAGRAPH_LIMIT);
            properties.push(format!("file={}", as_property(&file)));
            properties.push(format!("line={line}"));
            properties.push(format!("col={column}"));
        }
        let title = for_terminal(&self.title, LINE_LIMIT);
        properties.push(format!("title={}", as_property(&title)));
        let message = for_terminal(&self.message, PARAGRAPH_LIMIT);
        format!("::{level} {}::{}", properties.join(","), as_data(&message))
    }

    /// The annotation as a check run takes it; `None` without a place.
    pub(super) fn in_check_run(&self) -> Option<Value> {
        let (path, FilePosition { line, .. }) = self.place.as_ref()?;
        let [_, level] = self.level.words();
        Some(json!({
            "path": path, "start_line": line, "end_line": line, "annotation_level": level,
            "title": for_terminal(&self.title, LINE_LIMIT),
            "message": for_terminal(&self.message, PARAGRAPH_LIMIT),
        }))
    }
}

/// The lines before and after a job's log, which may contain commands: between them the runner ignores these. `random` must be new
/// for each log: a program that knows the token could re-enable commands.
pub fn stop_commands(random: u128) -> [String; 2] {
    let token = format!("canary-gate-{random:032x}");
    [format!("::stop-commands::{token}"), format!("::{token}::")]
}

fn as_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn as_property(text: &str) -> String {
    as_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn an_annotation_points_at_its_line_and_hostile_text_stays_in_its_field() {
        let place =
            |file: &str, line, column| Some((file.to_owned(), FilePosition { line, column }));
        for (level, place, title, message, command) in [
            (
                AnnotationLevel::Error,
                place("canary-gate.yml", 12, 5),
                "churn: over budget",
                "cost 126%, 63 USD",
                "::error file=canary-gate.yml,line=12,col=5,title=churn%3A over budget::cost 126%25, 63 USD",
            ),
            (
                AnnotationLevel::Warning,
                None,
                "no base yet",
                "compared with nothing",
                "::warning title=no base yet::compared with nothing",
            ),
            (
                AnnotationLevel::Warning,
                place("a,line=1::b\n::error::c", 1, 2),
                "x\r\n::add-mask::y",
                "\u{1b}[31m%0A::set-output name=a::b\n::stop-commands::c",
                "::warning file=a%2Cline=1%3A%3Ab %3A %3Aerror%3A%3Ac,line=1,col=2,title=x %3A %3Aadd-mask%3A%3Ay::\
                 %250A::set-output name=a::b : :stop-commands::c",
            ),
        ] {
            let [title, message] = [title, message].map(str::to_owned);
            let annotation = Annotation {
                level,
                place,
                title,
                message,
            };
            assert_eq!(annotation.command(), command);
        }
    }

    /// As the runner reads a command: its properties, and its data.
    fn read(command: &str) -> (Vec<(String, String)>, String) {
        let (head, data) = command
            .strip_prefix("::")
            .unwrap()
            .split_once("::")
            .unwrap();
        let (_, properties) = head.split_once(' ').unwrap();
        let plain = |text: &str| {
            let text = text.replace("%0D", "\r").replace("%0A", "\n");
            let text = text.replace("%3A", ":").replace("%2C", ",");
            text.replace("%25", "%")
        };
        let properties = properties.split(',').map(|property| {
            let (name, value) = property.split_once('=').unwrap();
            (name.to_owned(), plain(value))
        });
        (properties.collect(), plain(data))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn whatever_comes_the_runner_reads_what_was_meant(
            file in any::<String>(), title in "[:,%=\n\r\\PC]{0,20}", message in "[:%\n\\PC]{0,40}",
        ) {
            let annotation = Annotation {
                level: AnnotationLevel::Error,
                place: Some((file.clone(), FilePosition { line: 3, column: 4 })),
                title: title.clone(),
                message: message.clone(),
            };
            let command = annotation.command();
            prop_assert!(!command.contains(['\n', '\r']));
            let (properties, data) = read(&command);
            let expected = [
                ("file", for_terminal(&file, PARAGRAPH_LIMIT)),
                ("line", "3".to_owned()),
                ("col", "4".to_owned()),
                ("title", for_terminal(&title, LINE_LIMIT)),
            ];
            prop_assert_eq!(properties, expected.map(|(name, value)| (name.to_owned(), value)));
            prop_assert_eq!(data, for_terminal(&message, PARAGRAPH_LIMIT));
        }
    }
}
