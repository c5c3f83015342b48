//! The spec's text, as it is written line by line.

use std::fmt::Write;

use super::yaml_text as yaml;

/// Where a person has to fill something in; no data lies there, so nothing is started on it by mistake.
pub const FILL_IN: &str = "FILL-IN";

/// The text, as it grows.
pub struct SpecPage(pub String);

impl SpecPage {
    pub fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.0, "{}{text}", "  ".repeat(depth));
    }

    pub fn remark(&mut self, depth: usize, text: &str) {
        self.line(depth, &format!("# {}", yaml::remark(text)));
    }

    pub fn gap(&mut self) {
        self.0.push('\n');
    }

    /// Nothing where the value is missing or empty, as AWS has both.
    pub fn text(&mut self, depth: usize, key: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.line(depth, &format!("{key}: {}", yaml::text(value)));
        }
    }

    pub fn list(&mut self, depth: usize, key: &str, values: &[String]) {
        if !values.is_empty() {
            self.line(depth, &format!("{key}: {}", yaml::list(values)));
        }
    }

    /// Values by name, below a key; nothing where there are none.
    pub fn map(&mut self, depth: usize, key: &str, values: &[(&str, &str)]) {
        if !values.is_empty() {
            self.line(depth, &format!("{key}:"));
        }
        for (name, value) in values {
            let (name, value) = (yaml::text(name), yaml::text_or_number(value));
            self.line(depth + 1, &format!("{name}: {value}"));
        }
    }
}
